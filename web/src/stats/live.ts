import { useEffect, useState } from "react";
import { pathOf, type Subject } from "./subject";

/** `waiting`: the connection is made, or made anew. `paused`: the page is not seen. */
export type LiveState = "waiting" | "live" | "paused";

export interface Now {
  today: { clicks: number; people: number; bots: number; daily_visitors: number };
  all_clicks: number;
  newest: readonly NewClick[];
}

export interface NewClick {
  at: string;
  short_code: string | null;
  kind: string;
  country: string | null;
  referrer: string | null;
  browser: string | null;
  system: string | null;
  device: string | null;
  latency_ms: number | null;
}

const RELOAD_MS = 2500; // between two reports, however busy a link is
const RETRY_MS = 5000;
const LONGEST_RETRY_MS = 60_000;

export interface Live {
  state: LiveState;
  now: Now | null;
}

/** Listens while the page is seen. */
export function useLive(subject: Subject): Live {
  const path = `${pathOf(subject)}/live`;
  const [state, setState] = useState<LiveState>("waiting");
  const [heard, setHeard] = useState<{ path: string; now: Now }>();
  useEffect(() => listen(path, setState, (now) => setHeard({ path, now })), [path]);
  return { state, now: heard?.path === path ? heard.now : null };
}

/** Asks for a new report whenever there are more clicks than it told of. */
export function useFresh(reported: number | undefined, now: Now | null, reload: () => void): void {
  const clicks = now?.all_clicks;
  useEffect(() => {
    if (clicks === undefined || reported === undefined || clicks <= reported) return;
    return soon(reload);
  }, [clicks, reported, reload]);
}

let reloadedAt = 0;

/** At once, or when enough time has passed since the last time. */
function soon(act: () => void): () => void {
  const wait = Math.max(0, reloadedAt + RELOAD_MS - Date.now());
  const timer = window.setTimeout(() => {
    reloadedAt = Date.now();
    act();
  }, wait);
  return () => window.clearTimeout(timer);
}

/** Until the function that it gives is called. */
function listen(
  path: string,
  setState: (state: LiveState) => void,
  tell: (now: Now) => void,
): () => void {
  let source: EventSource | undefined;
  let timer: number | undefined;
  let retryMs = RETRY_MS;
  const open = () => {
    setState("waiting");
    source = new EventSource(path);
    source.onmessage = (event: MessageEvent<string>) => {
      retryMs = RETRY_MS;
      setState("live");
      tell(JSON.parse(event.data) as Now);
    };
    source.onerror = () => {
      setState("waiting");
      // It comes back by itself when the connection broke, but not after an answer that is none.
      if (source?.readyState !== EventSource.CLOSED) return;
      timer = window.setTimeout(open, retryMs);
      retryMs = Math.min(2 * retryMs, LONGEST_RETRY_MS);
    };
  };
  const close = () => {
    source?.close();
    window.clearTimeout(timer);
  };
  const look = () => {
    close();
    if (document.hidden) setState("paused");
    else open();
  };
  look();
  document.addEventListener("visibilitychange", look);
  return () => {
    document.removeEventListener("visibilitychange", look);
    close();
  };
}
