import fc from "fast-check";
import { expect, test } from "vitest";
import { createUriMatcher } from "./uri-template.ts";

test.each<[template: string, uri: string, values: Record<string, string> | undefined]>([
  ["db://x/{id}", "db://x/7", { id: "7" }],
  ["db://x/{id}", "db://x/a%2Fb%20c", { id: "a/b c" }],
  ["db://x/{id}", "db://x/%252e", { id: "%2e" }],
  ["db://x/{id}", "db://x/", undefined],
  ["db://x/{id}", "db://x/a/b", undefined],
  ["db://x/{id}", "db://x/a?b", undefined],
  ["db://x/{id}", "db://x/%zz", undefined],
  ["db://x/{id}", "db://y/7", undefined],
  ["db://x/{id}/end", "db://x/7/end", { id: "7" }],
  ["db://x/{id}/end", "db://x/7/end/more", undefined],
  ["f:{name}.{ext}", "f:a.b.c", { name: "a.b", ext: "c" }],
  ["f:{a,b}", "f:1,2", { a: "1", b: "2" }],
  ["f:{+path}", "f:a/b?c#d", { path: "a/b?c#d" }],
  ["f:{+path}/{name}", "f:a/b/c", { path: "a/b", name: "c" }],
  ["f:{+path}{?q}", "f:a/b?q=1", { path: "a/b", q: "1" }],
  ["f:x{/a,b}", "f:x/1/2", { a: "1", b: "2" }],
  ["f:x{/a}", "f:x", undefined],
  ["f:x{?a,b}", "f:x?b=2&a=1%26", { a: "1&", b: "2" }],
  ["f:x{?a,b}", "f:x?a=1", undefined],
  ["f:x{?a,b}", "f:x?a=1&b=2&c=3", undefined],
  ["f:x{?a,b}", "f:x?a=1&a=2&b=3", undefined],
  ["f:x{?a}", "f:x?a=", undefined],
  ["f:x{?a}", "f:x", undefined],
  ["f:fixed", "f:fixed", {}],
])("the template %s reads the values of the URI %s", (template, uri, values) => {
  expect(createUriMatcher(template)(uri)).toEqual(values);
});

test.each([
  "f:{#a}",
  "f:{a*}",
  "f:{a:3}",
  "f:{",
  "f:}",
  "f:{}",
  "f:{a}{b}",
  "f:{?a}x",
  "f:{a}/{a}",
  "f:{;a}",
])("the template %s is refused", (template) => {
  expect(() => createUriMatcher(template)).toThrow("cannot be used");
});

test("reads back any values that are encoded into a URI", () => {
  const match = createUriMatcher("x://h/{a}/{b}{?c,d}");
  const value = fc.string({ minLength: 1, unit: "grapheme" }).filter((text) => !/\p{Surrogate}/u.test(text));
  fc.assert(
    fc.property(value, value, value, value, (a, b, c, d) => {
      const [ea = "", eb = "", ec = "", ed = ""] = [a, b, c, d].map(encodeURIComponent);
      expect(match(`x://h/${ea}/${eb}?d=${ed}&c=${ec}`)).toEqual({ a, b, c, d });
    }),
  );
});

test("a long URI is matched in bounded time", () => {
  const match = createUriMatcher("{+a}x{+b}x{+c}x{+d}x{+e}y");
  const started = performance.now();
  expect(match("x".repeat(8_000))).toBeUndefined();
  expect(match("x".repeat(100_000))).toBeUndefined();
  expect(performance.now() - started).toBeLessThan(15_000);
});
