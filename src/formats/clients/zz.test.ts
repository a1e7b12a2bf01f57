import fc from "fast-check";
import { expect, test } from "vitest";
import { parseReferences } from "../../secrets/references.ts";
import { formatPieces, joinPieces, parsePieces } from "./references.ts";
test("same grammar", () => {
  console.log(parsePieces("$${secrets._}"), parsePieces("a$${secrets._}"));
  const t = fc.array(fc.constantFrom("$", "{", "}", "${", "A", "env:", "secrets.", "file:", ":-", "x", "-", ".", " ", "1")).map((p) => p.join(""));
  fc.assert(fc.property(t, (text) => {
    const theirs = parseReferences(text).parts.map((p) => p.kind === "text" ? p.text : { kind: p.kind, name: p.name, ...(p.fallback === undefined ? {} : { fallback: p.fallback }) });
    expect(parsePieces(text)).toEqual(theirs);
    const pieces = joinPieces(parsePieces(text));
    expect(parsePieces(formatPieces(pieces))).toEqual(pieces);
  }), { numRuns: 20000 });
});
