import { useEffect } from "react";

/** Keeps the keyboard's place. Where what had the focus goes away, with its row or with a dialog above
 *  the page, the place it came from has it next; if that is gone, the next row, or the page's heading.
 *  Used once, around all pages. */
export function useKeptFocus(): void {
  useEffect(() => {
    let last: Element | null = null;
    let place: Element | null = null; // the last one in the page itself, not in what stands above it
    const note = ({ target }: FocusEvent) => {
      if (!(target instanceof Element)) return;
      last = target;
      if (target.closest("main")) place = target;
    };
    const look = (changes: MutationRecord[]) => {
      if (place && !place.isConnected) place = heirOf(place, changes);
      if (last === null || last.isConnected || !isLost()) return;
      if (enter(place)) last = document.activeElement;
    };
    const watch = new MutationObserver(look);
    watch.observe(document.body, { childList: true, subtree: true });
    document.addEventListener("focusin", note);
    return () => {
      watch.disconnect();
      document.removeEventListener("focusin", note);
    };
  }, []);
}

function isLost(): boolean {
  return document.activeElement === null || document.activeElement === document.body;
}

/** The row after the one that went away with `gone`, or the one before; rows may go one by one. */
function heirOf(gone: Element, changes: MutationRecord[]): Element | null {
  let heir: Node | null = gone;
  for (const { removedNodes, nextSibling, previousSibling } of changes) {
    const removed = [...removedNodes].find((node) => node.contains(heir));
    if (removed === undefined) continue;
    heir = removed instanceof HTMLTableRowElement ? (nextSibling ?? previousSibling) : null;
    if (heir === null) return null;
  }
  return heir instanceof Element && heir.isConnected ? heir : null;
}

/** False: there is nothing to go to yet. */
function enter(place: Element | null): boolean {
  const row = place instanceof HTMLTableRowElement ? place : null;
  const inRow = row?.querySelector("[data-main]") ?? row?.querySelector("a, button, input, select");
  const target = (row ? inRow : place) ?? document.querySelector("main h1");
  if (!(target instanceof HTMLElement)) return false;
  if (target.tagName === "H1") target.tabIndex = -1;
  target.focus({ preventScroll: true });
  return document.activeElement === target;
}
