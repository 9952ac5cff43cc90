import { useCallback, useMemo, useRef, useState } from "react";
import type { Link } from "../queries";

export interface Selection {
  links: readonly Link[];
  has(id: number): boolean;
  /** With `isRange`, all from the one touched last to this one. */
  toggle(link: Link, isRange: boolean): void;
  /** All of the page, or none of it. */
  togglePage(): void;
  isPageWhole: boolean;
  isPagePartly: boolean;
  set(links: readonly Link[]): void;
}

const NONE: ReadonlyMap<number, Link> = new Map();

/** Which links are chosen. It stays while one turns pages, and ends when `where` changes. */
export function useSelection(where: string, page: readonly Link[]): Selection {
  const [chosen, setChosen] = useState({ where, links: NONE });
  const links = chosen.where === where ? chosen.links : NONE;
  const last = useRef<number | null>(null);
  const shown = useRef(page);
  shown.current = page;

  const update = useCallback(
    (change: (links: Map<number, Link>) => void) =>
      setChosen((before) => {
        const next = new Map(before.where === where ? before.links : NONE);
        change(next);
        return { where, links: next };
      }),
    [where],
  );
  const toggle = useCallback(
    (link: Link, isRange: boolean) => {
      const range = isRange ? between(shown.current, last.current, link.id) : [link];
      last.current = link.id;
      update((next) => {
        const isOn = !next.has(link.id);
        for (const each of range) {
          if (isOn) next.set(each.id, each);
          else next.delete(each.id);
        }
      });
    },
    [update],
  );
  return useMemo(() => {
    const count = page.filter((link) => links.has(link.id)).length;
    const isPageWhole = page.length > 0 && count === page.length;
    return {
      // As they are now, where they are in sight.
      links: [...links.values()].map((link) => page.find(({ id }) => id === link.id) ?? link),
      has: (id) => links.has(id),
      toggle,
      togglePage: () =>
        update((next) => {
          for (const link of page) {
            if (isPageWhole) next.delete(link.id);
            else next.set(link.id, link);
          }
        }),
      isPageWhole,
      isPagePartly: count > 0 && !isPageWhole,
      set: (wanted) =>
        update((next) => {
          next.clear();
          for (const link of wanted) next.set(link.id, link);
        }),
    };
  }, [links, page, toggle, update]);
}

function between(page: readonly Link[], from: number | null, to: number): readonly Link[] {
  const end = page.findIndex(({ id }) => id === to);
  const start = page.findIndex(({ id }) => id === from);
  if (start === -1) return page.slice(end, end + 1);
  return page.slice(Math.min(start, end), Math.max(start, end) + 1);
}
