// Lists come in pages. Where a page of ours needs a whole list, for names or a choice, it is put together here.

const PAGE = 200; // the most that the server gives at once
/** More would be slow in a browser. Where so many are shown, `ui/CutNote` says so. */
export const MOST_ITEMS = 10_000;

interface Query {
  limit: number;
  cursor?: string;
}

/** All items of a list, up to `MOST_ITEMS`. `get` fetches a page. */
export async function everyPage<P extends { next_cursor?: string | null }, T>(
  get: (query: Query) => Promise<P>,
  itemsOf: (page: P) => readonly T[],
): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | null = null;
  do {
    const page: P = await get({ limit: PAGE, ...(cursor === null ? {} : { cursor }) });
    items.push(...itemsOf(page));
    cursor = page.next_cursor ?? null;
  } while (cursor !== null && items.length < MOST_ITEMS);
  return items.slice(0, MOST_ITEMS);
}
