import "../ui/styles";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Providers } from "../ui/Providers";
import { HomePage } from "./HomePage";

const root = document.getElementById("root");
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <Providers>
        <HomePage />
      </Providers>
    </StrictMode>,
  );
}
