import { expect, test } from "vitest";
import { Problem } from "../src/api/client";
import {
  changedBetween,
  createOf,
  editOf,
  type Fields,
  fieldsOf,
  findWrong,
  fromLocal,
  movedOver,
  NOTHING,
  toLocal,
  touched,
  wrongBy,
} from "../src/links/form/editing";
import { linkOf } from "./links";

const typed = (fields: Partial<Fields>): Fields => ({ ...NOTHING, ...fields });

test("a new link sends what was typed and nothing else", () => {
  const fields = typed({ original_url: " example.com/a ", title: "  ", strategy: "random" });
  expect(createOf(fields)).toEqual({
    original_url: "https://example.com/a",
    tags: [],
    forward_query: false,
    strategy: "random",
  });
});

test("a custom code wins over a way to make one", () => {
  const made = createOf(typed({ original_url: "x", custom_code: "mine", strategy: "random" }));
  expect(made).toMatchObject({ custom_code: "mine" });
  expect(made).not.toHaveProperty("strategy");
});

test("an expiry is sent as it was chosen", () => {
  const sent = (expiry: Fields["expiry"]) => createOf(typed({ original_url: "x", expiry }));
  expect(sent({ kind: "in", seconds: 60 })).toMatchObject({ expires_in: 60 });
  expect(sent({ kind: "at", at: "2030-01-31T18:00" })).toMatchObject({
    expires_at: "2030-01-31T23:00:00.000Z",
  });
  expect(sent({ kind: "never" })).not.toHaveProperty("expires_at");
});

test("a form that was left alone changes nothing", () => {
  const link = linkOf({ starts_at: "2030-01-01T00:00:00Z", max_clicks: 3, tags: ["a"] });
  expect(touched(fieldsOf(link), fieldsOf(link))).toEqual([]);
  expect(editOf(link, fieldsOf(link))).toEqual({});
});

test("an edit sends what was changed, and null for what was emptied", () => {
  const link = linkOf({ title: "Old", max_clicks: 3, starts_at: "2030-01-01T00:00:00Z" });
  const fields = { ...fieldsOf(link), title: " ", max_clicks: "", starts_at: "", is_paused: true };
  expect(editOf(link, fields)).toEqual({
    title: null,
    max_clicks: null,
    starts_at: null,
    is_paused: true,
  });
  expect(editOf(link, { ...fieldsOf(link), expiry: { kind: "never" } })).toEqual({
    expires_at: null,
  });
});

test("what somebody else changed is found, the expiry too", () => {
  const before = linkOf({});
  expect(changedBetween(before, linkOf({ version: 2, redirect_count: 7 }))).toEqual([]);
  const after = linkOf({ title: "New", expires_at: "2031-01-01T00:00:00Z" });
  expect(changedBetween(before, after)).toEqual(["title", "expiry"]);
});

test("what was typed moves over to the new state, and the rest follows that", () => {
  const before = linkOf({ title: "Old", notes: "old" });
  const after = linkOf({ title: "Theirs", notes: "theirs" });
  const moved = movedOver(before, after, { ...fieldsOf(before), notes: "mine" });
  expect(editOf(after, moved)).toEqual({ notes: "mine" });
});

test("mistakes are found before anybody is asked", () => {
  expect(findWrong(typed({}))).toEqual({ original_url: "empty" });
  const fields = typed({
    original_url: "x",
    custom_code: "ä",
    max_clicks: "0",
    starts_at: "no time",
    expiry: { kind: "at", at: "" },
  });
  expect(findWrong(fields)).toEqual({
    custom_code: "alphabet",
    max_clicks: "number",
    starts_at: "time",
    expiry: "empty",
  });
  expect(findWrong(fields, linkOf({ short_code: "ä" }))).not.toHaveProperty("custom_code");
});

test("a refusal stands beside the field it is about", () => {
  const refusal = (status: number, fields: object) =>
    new Problem(status, "x", "", null, fields as Record<string, unknown>);
  const late = refusal(422, { field: "expires_at" });
  expect(wrongBy(late)).toEqual({ expiry: late });
  const tag = refusal(422, { errors: [{ field: "tags.0" }] });
  expect(wrongBy(tag)).toEqual({ tags: tag });
  const other = refusal(409, {});
  expect(wrongBy(other)).toEqual({ "": other });
  expect(wrongBy(refusal(401, {}))).toEqual({});
});

test("times of the reader's zone come back as they were", () => {
  expect(toLocal(new Date("2030-07-01T16:30:00Z"))).toBe("2030-07-01T12:30");
  expect(fromLocal("2030-07-01T12:30")).toBe("2030-07-01T16:30:00.000Z");
});
