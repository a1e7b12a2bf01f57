import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { narrowest, parseUriTemplate } from "./uri-templates.ts";

describe("parseUriTemplate().covers()", () => {
  test.each([
    ["x://{id}", "x://1", true],
    ["x://{id}", "x://a/b", false],
    ["x://{id}", "x://a?b", false],
    ["x://{+path}", "x://a/b?c#d", true],
    ["x://{id}/data", "x://1/data", true],
    ["x://{id}/data", "x://1/2/data", false],
    ["x://{a}/{b}", "x://1/2", true],
    ["x://{a}{b}c", "x://abcc", true],
    ["x://{a}-{+b}.md", "x://1-2/3.md", true],
    ["x://{id}{?q}", "x://1?q=a/b", true],
    ["x://{id}{?q}", "x://1", true],
    ["x://fixed", "x://fixed", true],
    ["x://fixed", "x://fixed2", false],
    ["{+any}", "y://1", true],
    ["x://{id}", "y://1", false],
  ])("the template %s covers %s: %s", (template, uri, covered) => {
    expect(parseUriTemplate(template).covers(uri)).toBe(covered);
  });

  test("is true for any filled template, and only where mayCover() is true", () => {
    const literal = fc.string({ unit: fc.constantFrom("a", "b", "/"), maxLength: 4 });
    const segment = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 4 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(literal, segment, fc.boolean()), { minLength: 1, maxLength: 5 }),
        fc.string({ unit: fc.constantFrom("a", "b", "c", "/"), maxLength: 12 }),
        (parts, other) => {
          const template = `x:${parts.map(([text, , any]) => `${text}{${any ? "+" : ""}v}`).join("")}`;
          const uri = `x:${parts.map(([text, value, any]) => `${text}${value}${any ? "/" : ""}`).join("")}`;
          const uris = parseUriTemplate(template);
          expect(uris.covers(uri)).toBe(true);
          if (uris.covers(`x:${other}`)) expect(uris.mayCover(`x:${other}`)).toBe(true);
        },
      ),
    );
  });

  test("checks a long URI in bounded time", () => {
    const uris = parseUriTemplate(`x://${"{a}a".repeat(15)}b`);
    expect(uris.covers(`x://${"a".repeat(2_000)}`)).toBe(false);
    expect(uris.covers(`x://${"a".repeat(2_000)}b`)).toBe(true);
    expect(uris.covers(`x://${"a".repeat(1_000_000)}b`)).toBe(false);
  });
});

describe("narrowest()", () => {
  const find = (...templates: string[]): string[] =>
    narrowest(templates.map((template) => ({ uris: parseUriTemplate(template) }))).map(
      ({ uris }) => uris.template,
    );

  test.each([
    [["{+any}", "x://{+path}", "x://docs/{+path}"], ["x://docs/{+path}"]],
    [["x://{+path}", "x://{id}"], ["x://{id}"]],
    [
      ["x://{id}", "x://{name}"],
      ["x://{id}", "x://{name}"],
    ],
    [
      ["x://{+path}.md", "x://docs/{+path}"],
      ["x://{+path}.md", "x://docs/{+path}"],
    ],
    [["x://{a}/{b}", "x://{a}/data"], ["x://{a}/data"]],
    [["x://{id}"], ["x://{id}"]],
    [[], []],
  ])("of %j returns %j", (templates, expected) => {
    expect(find(...templates)).toEqual(expected);
    expect(find(...templates.toReversed())).toEqual(expected.toReversed());
  });
});
