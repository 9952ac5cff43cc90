import { localStorageColorSchemeManager, MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Problem } from "../api/client";
import { nonce } from "../api/server";
import { theme, variables } from "./theme";
import { Toasts } from "./toasts";

const colours = localStorageColorSchemeManager({ key: "kurz.colours" }); // early.ts reads it, too

const queries = new QueryClient({
  defaultOptions: {
    // Always: without a connection it fails at once, and nothing is done later unasked.
    queries: {
      staleTime: 10_000,
      retry: (count, error) => count < 2 && isPassing(error),
      networkMode: "always",
      refetchOnReconnect: true,
    },
    mutations: { retry: false, networkMode: "always" },
  },
});

/** Whether the same question may be answered in a moment. */
function isPassing(error: unknown): boolean {
  return error instanceof Problem && (error.status === 0 || error.status === 503);
}

/** What every page stands on. */
export function Providers({ children }: { children: ReactNode }) {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={variables}
      colorSchemeManager={colours}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce ?? ""}
      deduplicateCssVariables
    >
      <QueryClientProvider client={queries}>
        {children}
        <Toasts />
      </QueryClientProvider>
    </MantineProvider>
  );
}
