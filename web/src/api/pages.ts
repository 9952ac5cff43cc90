// Lists come in pages. Where a page of ours needs a whole list, for names or a choice, it is put together here.

const PAGE = 200; // the most that the server gives at once
/** More would be slow in a browser. Where so many are shown, `ui/CutNote` says so. */
export const MOST_ITEMS = 10_000;

interface Query {
  limit: number;
  cursor?: string;
}

type Page<K extends string, T> = Record<K, readonly T[]> & { next_cursor?: string | null };

/** All items of a list, up to `MOST_ITEMS`. `get` fetches a page, which has them under `name`. */
export async function everyPage<K extends string, T>(
  name: K,
  get: (query: Query) => Promise<Page<K, T>>,
): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | null = null;
  do {
    const page: Page<K, T> = await get({ limit: PAGE, ...(cursor === null ? {} : { cursor }) });
    items.push(...page[name]);
    cursor = page.next_cursor ?? null;
  } while (cursor !== null && items.length < MOST_ITEMS);
  return items.slice(0, MOST_ITEMS);
}
