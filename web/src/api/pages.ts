// Lists come in pages. Where a page of ours needs a whole list, for names or a choice, it is put together here.

const PAGE = 200; // the most that the server gives at once
const MAX_PAGES = 50; // 10,000 items: more would be slow in a browser

interface Query {
  limit: number;
  cursor?: string;
}

/** All items of a list, as far as `MAX_PAGES` go. `get` fetches a page. */
export async function everyPage<P extends { next_cursor?: string | null }, T>(
  get: (query: Query) => Promise<P>,
  itemsOf: (page: P) => readonly T[],
): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | null = null;
  for (let number = 0; number < MAX_PAGES; number++) {
    const page: P = await get({ limit: PAGE, ...(cursor === null ? {} : { cursor }) });
    items.push(...itemsOf(page));
    cursor = page.next_cursor ?? null;
    if (cursor === null) break;
  }
  return items;
}
