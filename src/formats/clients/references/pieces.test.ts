import fc from "fast-check";
import { expect, test } from "vitest";
import { formatPieces, isPlainText, joinPieces, parsePieces, withPlaceholders } from "./pieces.ts";

test("splits a text into literals and references", () => {
  expect(parsePieces("a${B}c${D:-e f}${env:G}${secrets.h-i}${file:/j k}$l$${m}")).toEqual([
    "a",
    { kind: "any", name: "B" },
    "c",
    { kind: "any", name: "D", fallback: "e f" },
    { kind: "env", name: "G" },
    { kind: "secret", name: "h-i" },
    { kind: "file", name: "/j k" },
    "$l${m}",
  ]);
  expect(parsePieces("${} ${1} ${a b} ${x ${Y} ${file:}")).toEqual(["${} ${1} ${a b} ${x ${Y} ${file:}"]);
  expect(isPlainText("$5 and $${X}")).toBe(true);
  expect(withPlaceholders("https://${HOST}/a")).toBe("https://x/a");
});

test("parsing formatted pieces gives the same pieces", () => {
  const part = fc.constantFrom(
    "$",
    "{",
    "}",
    "${",
    "A",
    "env:",
    "secrets.",
    "file:",
    ":-",
    "x",
    "-",
    ".",
    " ",
    "1",
  );
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const pieces = joinPieces(parsePieces(parts.join("")));
      expect(parsePieces(formatPieces(pieces))).toEqual(pieces);
    }),
    { numRuns: 5_000 },
  );
});
