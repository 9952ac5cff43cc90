import { beforeEach, expect, test, vi } from "vitest";
import type { Schemas } from "../src/api/client";

const KEY = "kurz.links";
const NOW = Date.parse("2026-11-17T12:00:00Z");
const kept = new Map<string, string>();
const listeners: ((event: { key: string }) => void)[] = [];

vi.stubGlobal("localStorage", {
  getItem: (key: string) => kept.get(key) ?? null,
  setItem: (key: string, value: string) => kept.set(key, value),
  removeItem: (key: string) => kept.delete(key),
});
vi.stubGlobal("window", {
  localStorage,
  addEventListener: (_: string, tell: (event: { key: string }) => void) => listeners.push(tell),
});

function linkOf(number: number, expires_at: string | null = "2026-11-17T20:00:00Z") {
  const link = {
    short_url: `https://go.example.com/${number}`,
    short_code: String(number),
    original_url: "https://example.com/",
    expires_at,
    claim_token: `token ${number}`,
    version: 1,
  };
  return link as unknown as Schemas["NewLinkRead"];
}

function codes(): string[] {
  const found = JSON.parse(kept.get(KEY) ?? "[]") as { short_code: string }[];
  return found.map(({ short_code }) => short_code);
}

beforeEach(() => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
  kept.clear();
});

const { forget, remember } = await import("../src/home/remembered");

test("links are remembered, the newest first, without what nobody needs", () => {
  remember(linkOf(1));
  remember(linkOf(2));
  expect(codes()).toEqual(["2", "1"]);
  expect(kept.get(KEY)).not.toContain("version");
});

test("a link that nobody can claim is not remembered", () => {
  remember(linkOf(1, null));
  remember({ ...linkOf(2), claim_token: null });
  expect(codes()).toEqual([]);
});

test("no more are remembered than can be claimed at once", () => {
  for (let number = 0; number < 103; number++) remember(linkOf(number));
  expect(codes()).toHaveLength(100);
  expect(codes().at(0)).toBe("102");
});

test("what has expired goes when the next one comes", () => {
  remember(linkOf(1));
  vi.setSystemTime(Date.parse("2026-11-17T21:00:00Z"));
  remember(linkOf(2, "2026-11-18T00:00:00Z"));
  expect(codes()).toEqual(["2"]);
});

test("claimed links are forgotten, and nothing is left behind them", () => {
  remember(linkOf(1));
  remember(linkOf(2));
  forget(["token 1"]);
  expect(codes()).toEqual(["2"]);
  forget(["token 2"]);
  expect(kept.has(KEY)).toBe(false);
});

test("what is broken is no link", () => {
  kept.set(KEY, '[null, 7, {"short_url": 1}, {"short_url": "x", "expires_at": "2030-01-01"}]');
  remember(linkOf(1));
  expect(codes()).toEqual(["1"]);
  kept.set(KEY, "{");
  remember(linkOf(2));
  expect(codes()).toEqual(["2"]);
});
