import { expect, test } from "vitest";
import { type Preset, questionOf } from "../src/stats/period";

const NOW = Date.parse("2026-11-17T03:30:00Z"); // still the 16th in New York
const ask = (preset: Preset, beginsAt: string | null = null) =>
  questionOf({ preset, part: null }, NOW, beginsAt);

test("a day has 24 hours, the one that is not over included", () => {
  expect(ask("24h")).toMatchObject({ from: "2026-11-16T04:00:00.000Z", interval: "hour" });
});

test("days are the reader's own", () => {
  expect(ask("7d")).toMatchObject({ from: "2026-11-10", interval: "day", compare: true });
  expect(ask("30d")).toMatchObject({ from: "2026-10-18", interval: "day" });
  expect(ask("30d")?.zone).toBe("America/New_York");
});

test("a question stays the same for an hour", () => {
  const later = questionOf({ preset: "7d", part: null }, NOW + 29 * 60_000, null);
  expect(later).toEqual(ask("7d"));
});

test("everything begins when it began, as far back as the server tells", () => {
  expect(ask("all")).toBeNull();
  expect(ask("all", "2026-09-01T12:00:00Z")).toMatchObject({ from: "2026-09-01", compare: false });
  expect(ask("all", "2026-11-16T12:00:00Z")).toMatchObject({ interval: "hour" });
  expect(ask("all", "1990-01-01T00:00:00Z")).toMatchObject({ from: "2021-11-13" });
});

test("a part of the time line has hours if they can be told apart", () => {
  const part = (to: string) =>
    questionOf(
      { preset: "all", part: { from: new Date("2026-11-01T00:00:00Z"), to: new Date(to) } },
      NOW,
      null,
    );
  expect(part("2026-11-02T00:00:00Z")).toMatchObject({
    from: "2026-11-01T00:00:00.000Z",
    to: "2026-11-02T00:00:00.000Z",
    interval: "hour",
    compare: true,
  });
  expect(part("2026-11-09T00:00:00Z")).not.toHaveProperty("interval");
});
