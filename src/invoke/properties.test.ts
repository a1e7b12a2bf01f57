// Random templates and random values, a hundred thousand times: shapes never change. Nothing is sent or started.

import fc from "fast-check";
import { expect, test } from "vitest";
import { http, word } from "../../test/helpers/invoke.ts";
import type { CliPart, CliWord, JsonSchema, Template, TemplatePart } from "../model/index.ts";
import { fillWords } from "./cli/words.ts";
import { createRequestBuilder } from "./http/request.ts";
import { ArgumentError } from "./values.ts";

const NAMES = ["a", "b", "c"];
const schema: JsonSchema = {
  type: "object",
  properties: Object.fromEntries(NAMES.map((name) => [name, { type: "string" }])),
};
const nasty = fc.constantFrom(
  ..."/ \\ .. . %2e %2F ? # & = @ : ; + - -- ' \" ` $ $& {a} {b} \n \r \0 ① 。 é 😀 \ud800 %".split(" "),
  " ",
  "",
);
const value = fc.oneof(
  { arbitrary: fc.array(nasty, { maxLength: 4 }).map((parts) => parts.join("")), weight: 4 },
  { arbitrary: fc.string({ maxLength: 8, unit: "binary" }), weight: 1 },
);
const args = fc.record({ a: value, b: value, c: value }, { requiredKeys: ["a"] });
const placeholder = fc.constantFrom(...NAMES).map((name): TemplatePart => ({ kind: "input", path: [name] }));
const literal = (unit: string[]) =>
  fc
    .array(fc.constantFrom(...unit), { minLength: 1, maxLength: 3 })
    .map((texts): TemplatePart => ({ kind: "text", text: texts.join("") }));
const RUNS = { numRuns: 50_000 };

/** A second implementation of template filling, to compare with; undefined when a value is absent. */
function plainly(
  parts: readonly CliPart[] | Template,
  given: Record<string, string | undefined>,
): string | undefined {
  let text = "";
  for (const part of parts) {
    const piece =
      part.kind === "text" ? part.text : part.kind === "input" ? given[part.path[0] ?? ""] : undefined;
    if (piece === undefined) return undefined;
    text += piece;
  }
  return text;
}

test("each argument of a command is its filled template, and there are no others", () => {
  const parts = fc.array(fc.oneof(placeholder, literal(["x", "-", "=", " ", "'", "{"])), {
    minLength: 1,
    maxLength: 4,
  });
  const words = fc.array(
    parts.map((found): CliWord => ({ kind: "word", parts: found })),
    { maxLength: 4 },
  );
  fc.assert(
    fc.property(words, args, (given, values) => {
      const all = [word("program"), ...given];
      const expected = all.flatMap((one) => (one.kind === "word" ? (plainly(one.parts, values) ?? []) : []));
      let filled: string[];
      try {
        filled = fillWords({ words: all }, schema, { args: values, headers: {} });
      } catch (error) {
        if (!(error instanceof ArgumentError)) throw error;
        // Refused for a reason: there is a NUL, or a word that could be an option.
        return Object.values(values).join("").includes("\0") || expected.some((text) => text.startsWith("-"));
      }
      if (filled.length !== expected.length || filled.some((text, index) => text !== expected[index]))
        return false;
      return given.every((one) => {
        if (one.kind !== "word" || one.parts[0]?.kind === "text") return true;
        return plainly(one.parts, values)?.startsWith("-") !== true;
      });
    }),
    RUNS,
  );
});

test("a URL keeps its origin, its path segments and its query parameters", () => {
  const segment = fc.array(fc.oneof(placeholder, literal(["x", ".", "y-z"])), { minLength: 1, maxLength: 2 });
  const segments = fc.array(segment, { minLength: 1, maxLength: 4 });
  const slash: TemplatePart = { kind: "text", text: "/" };
  const base: TemplatePart = { kind: "text", text: "https://api.test/v1" };
  fc.assert(
    fc.property(segments, fc.option(placeholder, { nil: undefined }), args, (path, query, values) => {
      const template: TemplatePart[] = [base, ...path.flatMap((parts) => [slash, ...parts])];
      if (query !== undefined) template.push({ kind: "text", text: "?k=1&q=" }, query);
      const { build } = createRequestBuilder({ ...http("POST", "https://x/"), url: template });
      let url: URL;
      try {
        ({ url } = build({ args: values, headers: {} }));
      } catch (error) {
        if (!(error instanceof ArgumentError)) throw error;
        return true;
      }
      if (url.origin !== "https://api.test" || url.username !== "" || url.hash !== "") return false;
      const got = url.pathname.split("/").map(decodeURIComponent);
      const wanted = ["", "v1", ...path.map((parts) => plainly(parts, values))];
      if (JSON.stringify(got) !== JSON.stringify(wanted)) {
        // The author of a template may write a segment of dots.
        return path.some((parts) => parts.every((part) => part.kind === "text" && /^\.+$/.test(part.text)));
      }
      const name = query?.kind === "input" ? (query.path[0] ?? "") : "";
      const found = values[name as keyof typeof values];
      const pairs = query === undefined ? [] : [["k", "1"], ...(found === undefined ? [] : [["q", found]])];
      return JSON.stringify([...url.searchParams]) === JSON.stringify(pairs);
    }),
    RUNS,
  );
});

test("headers never contain line breaks, and values add no headers", () => {
  const { build } = createRequestBuilder(
    http("GET", "https://x.test/", { headers: { "X-A": "v{a}", "X-B": "{b}" } }),
  );
  const usual = Object.keys(build({ args: { a: "", b: "" }, headers: {} }).headers).length;
  fc.assert(
    fc.property(args, (values) => {
      try {
        const { headers } = build({ args: { a: values.a, b: values.b ?? "" }, headers: {} });
        expect(Object.keys(headers).length).toBe(usual);
        return Object.values(headers).every((text) => !/[\r\n\0]/.test(text));
      } catch (error) {
        return error instanceof ArgumentError;
      }
    }),
    { numRuns: 10_000 },
  );
});
