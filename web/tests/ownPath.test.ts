import { expect, test, vi } from "vitest";
import { ownPath } from "../src/account/ownPath";

vi.stubGlobal("location", new URL("https://go.example.com/app/sign-in"));

test.each([
  ["/app/links", "/links"],
  ["/app/w/7/links?status=EXPIRED#top", "/w/7/links?status=EXPIRED#top"],
  ["https://go.example.com/app/stats", "/stats"],
])("%s is a page of ours", (wanted, path) => {
  expect(ownPath(wanted)).toBe(path);
});

test.each([
  null,
  "",
  "/",
  "/abc",
  "/app",
  "/app/sign-in",
  "/app/sign-up?next=/app/links",
  "//evil.example/app/links",
  "https://evil.example/app/links",
  "https://go.example.com:444/app/links",
  "javascript:alert(1)",
  "/app//evil.example",
  "/app/../abc",
  "\\\\evil.example\\app\\links",
  "/app/links%2f..%2fabc",
])("%s is none", (wanted) => {
  expect(ownPath(wanted)).toBe("/links");
});
