// The links that this browser made without an account, for as long as the server keeps them.
import { useSyncExternalStore } from "react";
import type { Schemas } from "../api/client";
import * as storage from "../api/storage";

export interface Remembered {
  short_url: string;
  short_code: string;
  original_url: string;
  expires_at: string;
  claim_token: string;
}

const KEY = "kurz.links";
const MOST = 100; // the server takes so many at once when they are claimed
const listeners = new Set<() => void>();
let links: readonly Remembered[] = load();

window.addEventListener("storage", (event) => {
  if (event.key === KEY) set(load()); // another tab
});

/** Newest first, none that has expired. */
export function useRemembered(now: number): readonly Remembered[] {
  const all = useSyncExternalStore(subscribe, () => links);
  return all.filter((link) => Date.parse(link.expires_at) > now);
}

export function remember(link: Schemas["NewLinkRead"]): void {
  if (!link.claim_token || !link.expires_at) return;
  const { short_url, short_code, original_url, expires_at, claim_token } = link;
  const made = { short_url, short_code, original_url, expires_at, claim_token };
  save([made, ...load()].slice(0, MOST));
}

export function forget(tokens: readonly string[]): void {
  save(load().filter((link) => !tokens.includes(link.claim_token)));
}

function load(): Remembered[] {
  try {
    const kept: unknown = JSON.parse(storage.read(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter(isAlive) : [];
  } catch {
    return [];
  }
}

function isAlive(value: unknown): value is Remembered {
  const link = value as Partial<Record<keyof Remembered, unknown>> | null;
  const isWhole = [link?.short_url, link?.short_code, link?.original_url, link?.claim_token].every(
    (text) => typeof text === "string",
  );
  return isWhole && Date.parse(String(link?.expires_at)) > Date.now();
}

function save(next: Remembered[]): void {
  storage.write(KEY, next.length > 0 ? JSON.stringify(next) : null);
  set(next);
}

function set(next: readonly Remembered[]): void {
  links = next;
  for (const tell of listeners) tell();
}

function subscribe(tell: () => void): () => void {
  listeners.add(tell);
  return () => listeners.delete(tell);
}
