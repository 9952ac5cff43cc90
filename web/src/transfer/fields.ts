// The columns of a file, as src/kurz/transfer/format.py knows them.
export const FIELDS = [
  "short_code",
  "original_url",
  "title",
  "tags",
  "notes",
  "status",
  "link_type",
  "strategy",
  "redirect_status",
  "forward_query",
  "max_clicks",
  "clicks_used",
  "created_at",
  "updated_at",
  "starts_at",
  "expires_at",
  "deleted_at",
  "swept_at",
  "redirect_count",
  "avg_redirect_ms",
  "workspace",
] as const;

const NAMES = new Map<string, string>([
  ...FIELDS.map((field): [string, string] => [field.replaceAll("_", ""), field]),
  ["url", "original_url"],
  ["longurl", "original_url"],
  ["target", "original_url"],
  ["code", "short_code"],
  ["slug", "short_code"],
  ["keyword", "short_code"],
  ["alias", "short_code"],
  ["clicks", "redirect_count"],
  ["visits", "redirect_count"],
  ["created", "created_at"],
  ["datecreated", "created_at"],
  ["date", "created_at"],
]);

/** The field behind a name; null: there is none. */
export function fieldOf(name: string): string | null {
  return NAMES.get(name.toLowerCase().replace(/[\s_-]/g, "")) ?? null;
}
