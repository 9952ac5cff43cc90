/** Where somebody wanted to go, as a path below /app; never another site's. */
export function ownPath(wanted: string | null): string {
  return wanted?.startsWith("/app/") && !wanted.startsWith("/app/sign-")
    ? wanted.slice("/app".length)
    : "/links";
}
