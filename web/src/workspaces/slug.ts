const LONGEST = 64;
// What a letter of German is written as without it; others only lose their marks.
const SPELLED: Record<string, string> = { ä: "ae", ö: "oe", ü: "ue", ß: "ss" };

/** A name as it can stand in an address: "Büro Wien" is buero-wien. */
export function slugOf(name: string): string {
  return name
    .toLowerCase()
    .normalize("NFC")
    .replace(/[äöüß]/g, (letter) => SPELLED[letter] ?? "")
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, LONGEST)
    .replace(/^-|-$/g, "");
}
