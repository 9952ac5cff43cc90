/** Where somebody wanted to go, as a path below /app; never another site's, nor a short link. */
export function ownPath(wanted: string | null): string {
  const url = wanted && URL.canParse(wanted, location.origin) && new URL(wanted, location.origin);
  if (!url || url.origin !== location.origin) return "/links";
  // What follows /app is what the router reads: a second slash would begin another host there.
  const isOwn = /^\/app\/(?!sign-)[a-z0-9-]+(\/[a-z0-9-]+)*\/?$/.test(url.pathname);
  return isOwn ? url.pathname.slice("/app".length) + url.search + url.hash : "/links";
}
