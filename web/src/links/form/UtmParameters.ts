// Campaign parameters in an address. The address is the only place they are kept in.

export const UTM = ["source", "medium", "campaign", "term", "content"] as const;
export type Utm = (typeof UTM)[number];

/** The address cut where its query begins and ends. */
function cut(url: string): { before: string; pieces: string[]; after: string } {
  const hash = url.indexOf("#");
  const after = hash < 0 ? "" : url.slice(hash);
  const rest = hash < 0 ? url : url.slice(0, hash);
  const mark = rest.indexOf("?");
  const query = mark < 0 ? "" : rest.slice(mark + 1);
  return { before: mark < 0 ? rest : rest.slice(0, mark), pieces: query.split("&"), after };
}

export function readUtm(url: string): Record<Utm, string> {
  const { pieces } = cut(url);
  const value = (name: Utm) => pieces.find((piece) => nameOf(piece) === `utm_${name}`);
  return Object.fromEntries(UTM.map((name) => [name, textOf(value(name) ?? "")])) as Record<
    Utm,
    string
  >;
}

/** The address with this parameter once, or, for an empty value, not at all. The rest of it stays
 *  as it is, letter by letter. */
export function writeUtm(url: string, name: Utm, value: string): string {
  const { before, pieces, after } = cut(url);
  const isIt = (piece: string) => nameOf(piece) === `utm_${name}`;
  const place = pieces.findIndex(isIt);
  const others = pieces.filter((piece) => piece !== "" && !isIt(piece));
  const index = place < 0 ? others.length : pieces.slice(0, place).filter(Boolean).length;
  const made = `utm_${name}=${encodeURIComponent(value)}`;
  const next = value === "" ? others : others.toSpliced(index, 0, made);
  return before + (next.length > 0 ? `?${next.join("&")}` : "") + after;
}

function nameOf(piece: string): string {
  return decode(piece.split("=", 1)[0] ?? "").toLowerCase();
}

function textOf(piece: string): string {
  const mark = piece.indexOf("=");
  return mark < 0 ? "" : decode(piece.slice(mark + 1));
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
