import { useEffect } from "react";

// The Navigation API, as far as it is used here: TypeScript does not know it yet.
declare global {
  interface Window {
    readonly navigation?: EventTarget;
  }
}
interface NavigateEvent extends Event {
  readonly navigationType: "push" | "replace" | "reload" | "traverse";
}

/** While `isNeeded`, nobody leaves by mistake: the browser's own Back and Forward `ask` first, and so does the
 *  browser itself before the tab is closed or loaded again. Browsers without the Navigation API go back unasked. */
export function useStay(isNeeded: boolean, ask: (is: true) => void): void {
  useEffect(() => {
    if (!isNeeded) return;
    const close = (event: BeforeUnloadEvent) => event.preventDefault();
    const turn = (event: Event) => {
      const { navigationType } = event as NavigateEvent;
      if (navigationType !== "traverse" || !event.cancelable) return;
      event.preventDefault();
      ask(true);
    };
    window.addEventListener("beforeunload", close);
    window.navigation?.addEventListener("navigate", turn);
    return () => {
      window.removeEventListener("beforeunload", close);
      window.navigation?.removeEventListener("navigate", turn);
    };
  }, [isNeeded, ask]);
}
