import { expect, test, vi } from "vitest";

vi.stubGlobal("document", { documentElement: {} });
const { makeFormats } = await import("../src/ui/format");

const NOW = Date.parse("2026-11-17T12:00:00Z");
const english = makeFormats("en", "just now");
const german = makeFormats("de", "gerade eben");
const after = (seconds: number) => new Date(NOW + 1000 * seconds);

test("numbers are written as the reader writes them", () => {
  expect(english.number(12_048)).toBe("12,048");
  expect(german.number(12_048)).toBe("12.048");
  expect(english.compact(12_048)).toBe("12K");
});

test("times are told from now on", () => {
  expect(english.relative(after(-3 * 86_400), NOW)).toBe("3 days ago");
  expect(english.relative(after(2 * 3600), NOW)).toBe("in 2 hours");
  expect(german.relative(after(-86_400), NOW)).toBe("gestern");
  expect(english.relative(after(-400 * 86_400), NOW)).toBe("last year");
});

test("nothing was made in a minute, however clocks differ", () => {
  expect(english.relative(after(10), NOW)).toBe("just now");
  expect(english.relative(after(-59), NOW)).toBe("just now");
  expect(english.relative(after(30), NOW)).toBe("in 1 minute");
});

test("an exact time names its zone", () => {
  expect(english.exact(new Date(NOW))).toContain("EST");
});
