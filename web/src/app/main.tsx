import "./styles";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { nonce } from "../api/server";
import { Unloaded } from "../ui/lazily";
import { Providers } from "../ui/Providers";
import { App } from "./App";

// For the style that holds the page still below a dialog.
setNonce(nonce ?? "");

const root = document.getElementById("root");
if (root !== null) {
  createRoot(root, {
    // What did not come is in the console already; anything else is a mistake of ours.
    onCaughtError: (error) => error instanceof Unloaded || reportError(error),
  }).render(
    <StrictMode>
      <Providers>
        <App />
      </Providers>
    </StrictMode>,
  );
}
