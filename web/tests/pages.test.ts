import { expect, test } from "vitest";
import { everyPage, MOST_ITEMS, MOST_REQUESTS, wholePage } from "../src/api/pages";

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

/** A page of a list where each request searches ten numbers, of which those divisible by `step` match. */
async function pageOf(count: number, step: number, start: string | null = null) {
  let requests = 0;
  const page = await wholePage(5, start, async ({ limit, cursor = "0" }) => {
    requests += 1;
    const first = Number(cursor);
    const searched = Array.from({ length: Math.min(10, count - first) }, (_, n) => first + n);
    const found = searched.filter((number) => number % step === 0).slice(0, limit);
    const isFull = found.length === limit;
    const next = isFull ? (found.at(-1) ?? 0) + 1 : first + searched.length;
    return { links: found, next_cursor: next < count ? String(next) : null, is_complete: isFull };
  });
  return { ...page, requests };
}

test("a page is filled up where the server has searched only part of the links", async () => {
  expect(await pageOf(1000, 1)).toMatchObject({ links: [0, 1, 2, 3, 4], requests: 1 });
  const page = await pageOf(1000, 7);
  expect(page).toMatchObject({ links: [0, 7, 14, 21, 28], is_complete: true, requests: 3 });
  const next = await pageOf(1000, 7, page.next_cursor);
  expect(next.links).toEqual([35, 42, 49, 56, 63]);
});

test("a page stops filling up after some requests, if it has any links", async () => {
  const page = await pageOf(100_000, 150);
  expect(page).toMatchObject({ links: [0, 150], is_complete: false, requests: MOST_REQUESTS });
  expect(page.next_cursor).toBe("200");
  expect(await pageOf(5000, 10_000, "1")).toMatchObject({ links: [], next_cursor: null });
});
