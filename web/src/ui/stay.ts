import { useEffect, useRef } from "react";

// The Navigation API, as far as it is used here: TypeScript does not know it yet.
declare global {
  interface Window {
    readonly navigation?: EventTarget;
  }
}
interface NavigateEvent extends Event {
  readonly navigationType: "push" | "replace" | "reload" | "traverse";
}

let isLeaving = false;

/** Goes there, and nobody asks. */
export function leave(address: string): void {
  isLeaving = true;
  location.assign(address);
}

/** While `isNeeded`, nobody leaves by mistake: the browser's own Back and Forward `ask` first, and so does the
 *  browser itself before the tab is closed or loaded again. */
export function useStay(isNeeded: boolean, ask: (is: true) => void): void {
  useNoClosing(isNeeded);
  useNoTurning(isNeeded, ask);
}

/** The browser asks before the tab is closed or loaded again. */
export function useNoClosing(isNeeded: boolean): void {
  useEffect(() => {
    if (!isNeeded) return;
    const close = (event: BeforeUnloadEvent) => {
      if (!isLeaving) event.preventDefault();
    };
    window.addEventListener("beforeunload", close);
    return () => window.removeEventListener("beforeunload", close);
  }, [isNeeded]);
}

// Whom Back and Forward ask, where the browser has the Navigation API: the last is what stands above the others.
const asked: { ask: (is: true) => void }[] = [];

window.navigation?.addEventListener("navigate", (event) => {
  const { navigationType } = event as NavigateEvent;
  const top = asked.at(-1);
  if (navigationType !== "traverse" || !event.cancelable || top === undefined) return;
  event.preventDefault();
  top.ask(true);
});

/** Back and Forward call `ask` instead. */
export function useNoTurning(isNeeded: boolean, ask: (is: true) => void): void {
  const now = useRef({ ask });
  now.current.ask = ask;
  useEffect(() => {
    if (!isNeeded) return;
    const own = now.current;
    asked.push(own);
    return () => void asked.splice(asked.indexOf(own), 1);
  }, [isNeeded]);
}
