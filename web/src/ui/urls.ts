/** A URL as people read it: no https://, no slash alone at its end. */
export function bare(url: string): string {
  const text = url.replace(/^https?:\/\//, "");
  return text.indexOf("/") === text.length - 1 ? text.slice(0, -1) : text;
}

/** As people type addresses: without https://. */
export function completed(text: string): string {
  const trimmed = text.trim();
  return /^[^\s/:@]+\.[^\s/:@]{2,}(?::\d+)?(?:[/?#]|$)/.test(trimmed)
    ? `https://${trimmed}`
    : trimmed;
}
