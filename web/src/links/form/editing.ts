// The form of a link: what is typed, what that says to the API, and what two people changed at once.
import type { Problem, Schemas } from "../../api/client";
import { completed } from "../../ui/urls";
import type { Link } from "../queries";

/** "same": as the link is, or as is usual in its place. `at` is a time of the reader's zone. */
export type Expiry =
  | { kind: "same" | "never" }
  | { kind: "in"; seconds: number }
  | { kind: "at"; at: string };

export interface Fields {
  original_url: string;
  custom_code: string;
  title: string;
  tags: readonly string[];
  notes: string;
  strategy: "" | Schemas["Strategy"];
  expiry: Expiry;
  starts_at: string;
  redirect_status: string;
  forward_query: boolean;
  max_clicks: string;
  is_paused: boolean;
}
export type Name = keyof Fields;
/** What is wrong, beside the field it is about; `""`: about none of them. */
export type Wrong = Partial<Record<Name | "", Problem | "empty" | "number" | "alphabet" | "time">>;

export const MOST_TAGS = 20;
export const NOTHING: Fields = {
  original_url: "",
  custom_code: "",
  title: "",
  tags: [],
  notes: "",
  strategy: "",
  expiry: { kind: "same" },
  starts_at: "",
  redirect_status: "",
  forward_query: false,
  max_clicks: "",
  is_paused: false,
};
const NAMES = Object.keys(NOTHING) as Name[];

export function fieldsOf(link: Link): Fields {
  return {
    original_url: link.original_url,
    custom_code: link.short_code,
    title: link.title ?? "",
    tags: link.tags,
    notes: link.notes ?? "",
    strategy: "",
    expiry: { kind: "same" },
    starts_at: link.starts_at ? toLocal(new Date(link.starts_at)) : "",
    redirect_status: String(link.redirect_status),
    forward_query: link.forward_query,
    max_clicks: link.max_clicks === null ? "" : String(link.max_clicks),
    is_paused: link.is_paused,
  };
}

/** The fields that somebody changed in the form. */
export function touched(before: Fields, now: Fields): Name[] {
  return NAMES.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(now[name]));
}

/** What cannot be right, before anybody is asked. The code that the link has may stay, whatever it is: imported
 *  ones may have other characters. */
export function findWrong(fields: Fields, link: Link | null = null): Wrong {
  const wrong: Wrong = {};
  const { custom_code: code } = fields;
  if (fields.original_url.trim() === "") wrong.original_url = "empty";
  if (code && code !== link?.short_code && !isAlias(code)) wrong.custom_code = "alphabet";
  if (fields.expiry.kind === "at" && fields.expiry.at === "") wrong.expiry = "empty";
  else if (fields.expiry.kind === "at" && !isTime(fields.expiry.at)) wrong.expiry = "time";
  if (fields.starts_at && !isTime(fields.starts_at)) wrong.starts_at = "time";
  if (fields.max_clicks && !/^[1-9][0-9]{0,14}$/.test(fields.max_clicks)) {
    wrong.max_clicks = "number";
  }
  return wrong;
}

/** Fields for times let a year have more than four digits, which nothing else does. */
function isTime(text: string): boolean {
  return !Number.isNaN(Date.parse(text));
}

export function isAlias(code: string): boolean {
  return /^[A-Za-z0-9_-]{3,64}$/.test(code);
}

/** A refusal stands beside the field it is about. */
export function wrongBy(problem: Problem): Wrong {
  if (problem.status === 401) return {}; // the sign-in dialog says it
  const names = problem.refused.map(nameOf);
  return Object.fromEntries((names.length ? names : [""]).map((name) => [name, problem]));
}

/** The field of the form that is sent as this one. */
function nameOf(field: string): Name | "" {
  if (field === "expires_at" || field === "expires_in") return "expiry";
  return NAMES.find((name) => name === field) ?? "";
}

/** What makes a new link. What was left alone is not sent: the server knows what is usual. */
export function createOf(fields: Fields): Schemas["LinkCreate"] {
  const { expiry } = fields;
  return {
    original_url: completed(fields.original_url),
    tags: [...fields.tags],
    forward_query: fields.forward_query,
    ...(fields.custom_code && { custom_code: fields.custom_code }),
    ...(fields.strategy && !fields.custom_code && { strategy: fields.strategy }),
    ...(fields.title.trim() && { title: fields.title.trim() }),
    ...(fields.notes.trim() && { notes: fields.notes.trim() }),
    ...(fields.starts_at && { starts_at: fromLocal(fields.starts_at) }),
    ...(fields.redirect_status && { redirect_status: statusOf(fields) }),
    ...(fields.max_clicks && { max_clicks: Number(fields.max_clicks) }),
    ...(expiry.kind === "in" && { expires_in: expiry.seconds }),
    ...(expiry.kind === "at" && { expires_at: fromLocal(expiry.at) }),
  };
}

/** What changes a link: only what was changed in the form. */
export function editOf(link: Link, fields: Fields): Schemas["LinkEdit"] {
  const names = new Set(touched(fieldsOf(link), fields));
  const { expiry } = fields;
  return {
    ...(names.has("original_url") && { original_url: completed(fields.original_url) }),
    ...(names.has("custom_code") && { custom_code: fields.custom_code }),
    ...(names.has("title") && { title: fields.title.trim() || null }),
    ...(names.has("tags") && { tags: [...fields.tags] }),
    ...(names.has("notes") && { notes: fields.notes.trim() || null }),
    ...(names.has("starts_at") && {
      starts_at: fields.starts_at ? fromLocal(fields.starts_at) : null,
    }),
    ...(names.has("redirect_status") && { redirect_status: statusOf(fields) }),
    ...(names.has("forward_query") && { forward_query: fields.forward_query }),
    ...(names.has("max_clicks") && { max_clicks: Number(fields.max_clicks) || null }),
    ...(names.has("is_paused") && { is_paused: fields.is_paused }),
    ...(expiry.kind === "in" && { expires_in: expiry.seconds }),
    ...(expiry.kind === "at" && { expires_at: fromLocal(expiry.at) }),
    ...(expiry.kind === "never" && { expires_at: null }),
  };
}

function statusOf(fields: Fields): 301 | 302 | 307 | 308 {
  return Number(fields.redirect_status) as 301 | 302 | 307 | 308;
}

/** The fields that somebody else changed between two states of a link. */
export function changedBetween(before: Link, after: Link): Name[] {
  const names = touched(fieldsOf(before), fieldsOf(after));
  return before.expires_at === after.expires_at ? names : [...names, "expiry"];
}

/** What was typed over `before`, moved over to `after`: what was left alone follows it. */
export function movedOver(before: Link, after: Link, typed: Fields): Fields {
  const mine = touched(fieldsOf(before), typed);
  const kept = Object.fromEntries(mine.map((name) => [name, typed[name]]));
  return { ...fieldsOf(after), ...kept };
}

/** As a field for date and time has it, in the reader's zone. */
export function toLocal(instant: Date): string {
  const shifted = new Date(instant.getTime() - instant.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}

export function fromLocal(text: string): string {
  return new Date(text).toISOString();
}
