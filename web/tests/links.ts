import type { Link } from "../src/links/queries";

const LINK: Link = {
  id: 1,
  workspace_id: 0,
  short_code: "abc",
  short_url: "https://go.example.com/abc",
  original_url: "https://example.com/",
  canonical_url: "https://example.com/",
  link_type: "PERMANENT",
  status: "ACTIVE",
  is_paused: false,
  strategy: "custom",
  owner_id: 1,
  version: 1,
  created_at: "2026-01-01T00:00:00Z",
  updated_at: "2026-01-01T00:00:00Z",
  starts_at: null,
  expires_at: null,
  deleted_at: null,
  swept_at: null,
  purged_at: null,
  redirect_status: 302,
  title: null,
  tags: [],
  notes: null,
  forward_query: false,
  max_clicks: null,
  clicks_used: 0,
  redirect_count: 0,
  avg_redirect_ms: null,
  destination_status: null,
  destination_http_status: null,
  last_checked_at: null,
  held_at: null,
};

export function linkOf(fields: Partial<Link>): Link {
  return { ...LINK, ...fields };
}
