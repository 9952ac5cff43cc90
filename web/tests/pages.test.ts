import { expect, test } from "vitest";
import { everyPage, MOST_ITEMS } from "../src/api/pages";

/** A list of so many numbers, and how many requests it took. */
async function listOf(count: number) {
  let requests = 0;
  const items = await everyPage("numbers", async ({ limit, cursor = "0" }) => {
    requests += 1;
    const first = Number(cursor);
    const numbers = Array.from({ length: Math.min(limit, count - first) }, (_, n) => first + n);
    const next = first + numbers.length;
    return { numbers, next_cursor: next < count ? String(next) : null };
  });
  return { items, requests };
}

test("a list is put together from its pages", async () => {
  const { items, requests } = await listOf(401);
  expect(items).toEqual(Array.from({ length: 401 }, (_, n) => n));
  expect(requests).toBe(3);
  expect((await listOf(0)).items).toEqual([]);
});

test("a list ends where a browser would become slow", async () => {
  const { items, requests } = await listOf(MOST_ITEMS + 1);
  expect(items).toHaveLength(MOST_ITEMS);
  expect(requests).toBe(MOST_ITEMS / 200);
});
