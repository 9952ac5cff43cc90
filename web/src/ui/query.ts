/** The query of an address with some of its parts changed; what is empty is taken away. */
export function changed(
  query: URLSearchParams,
  parts: Readonly<Record<string, string | null>>,
): URLSearchParams {
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(parts)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  return next;
}
