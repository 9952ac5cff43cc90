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

/** An incomplete page is filled up with at most this many requests, unless it is still empty. */
export const MOST_REQUESTS = 20;

interface LinkPage<T> {
  links: T[];
  next_cursor: string | null;
  is_complete: boolean;
}

/** Fills up a page for which the server has searched only part of the links. It continues as long as there is no match. */
export async function wholePage<T, P extends LinkPage<T>>(
  limit: number,
  start: string | null,
  get: (query: Query) => Promise<P>,
): Promise<P> {
  const ask = (cursor: string | null, count: number) =>
    get({ limit: count, ...(cursor === null ? {} : { cursor }) });
  let page = await ask(start, limit);
  for (let requests = 1; !page.is_complete && page.next_cursor !== null; requests += 1) {
    if (requests >= MOST_REQUESTS && page.links.length > 0) break;
    const more = await ask(page.next_cursor, limit - page.links.length);
    page = { ...more, links: [...page.links, ...more.links] };
  }
  return page;
}
