import { expect, test } from "vitest";
import { readUtm, writeUtm } from "../src/links/form/UtmParameters";

test("a parameter is written once, and the rest stays letter by letter", () => {
  const url = "https://example.com/?b=%7E&utm_source=old&a=1&UTM_Source=x#part";
  expect(writeUtm(url, "source", "a b")).toBe(
    "https://example.com/?b=%7E&utm_source=a%20b&a=1#part",
  );
  expect(writeUtm(url, "source", "")).toBe("https://example.com/?b=%7E&a=1#part");
  expect(writeUtm("https://example.com/", "term", "x")).toBe("https://example.com/?utm_term=x");
});

test("parameters are read, broken ones too", () => {
  expect(readUtm("https://example.com/?utm_source=a+b&utm_medium=%")).toMatchObject({
    source: "a b",
    medium: "%",
    campaign: "",
  });
});
