// References: parseRef splits them at the first colon, and serializeRef writes the same text again.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { escapeRefBody, parseRef, serializeRef, unescapeRefBody } from "./ref.ts";

const HASH = "0123456789abcdef".repeat(4);

describe("parseRef", () => {
  test.each([
    ["local:docs/a.md", { kind: "local", body: "docs/a.md" }],
    ["mcp_filesystem:file:///path/to/file", { kind: "mcp_filesystem", body: "file:///path/to/file" }],
    [`url:https%3A//a#sha256=${HASH}`, { kind: "url", body: "https%3A//a", sha256: HASH }],
    ["url:https://a#part", { kind: "url", body: "https://a#part" }],
  ])("parses %s, and serializeRef writes the same text again", (text, ref) => {
    expect(parseRef(text)).toEqual({ ok: true, ref });
    expect(serializeRef(ref)).toBe(text);
  });

  test.each([
    ["nothing", "UnknownRefKind"],
    ["", "UnknownRefKind"],
    ["Local:a", "UnknownRefKind"],
    ["a-b:c", "UnknownRefKind"],
    ["1a:c", "UnknownRefKind"],
    ["local:", "InvalidRefBody"],
    ["local:a\nb", "InvalidRefBody"],
    ["local:a#sha256=12", "InvalidRefBody"],
    [`local:#sha256=${HASH}`, "InvalidRefBody"],
    [`local:${"a".repeat(9_000)}`, "InvalidRefBody"],
  ])("rejects %j with %s", (text, code) => {
    expect(parseRef(text)).toMatchObject({ ok: false, code });
  });
});

test("serializeRef returns undefined for a reference that parseRef would read differently", () => {
  expect(serializeRef({ kind: "local", body: `a#sha256=${HASH}` })).toBeUndefined();
  expect(serializeRef({ kind: "lo:cal", body: "a" })).toBeUndefined();
  expect(serializeRef({ kind: "local", body: "a", sha256: "12" })).toBeUndefined();
});

test("parsing and serializing, and escaping and unescaping, return the same text", () => {
  const part = fc.constantFrom(
    "local",
    "mcp_a",
    ":",
    "#sha256=",
    HASH,
    "a",
    "%",
    "@",
    "/",
    "#",
    "é",
    "\u0000",
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      const text = parts.join("");
      const parsed = parseRef(text);
      if (parsed.ok) expect(serializeRef(parsed.ref)).toBe(text);
    }),
    { numRuns: 500 },
  );
  fc.assert(
    fc.property(fc.string(), (body) => {
      expect(unescapeRefBody(escapeRefBody(body))).toBe(body);
    }),
  );
});
