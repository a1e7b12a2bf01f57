import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { escapeReferences, fillReferences, parseReferences, type ReferencePart } from "./references.ts";

const references = (text: string): readonly ReferencePart[] =>
  parseReferences(text).parts.filter((part): part is ReferencePart => part.kind !== "text");

describe("parseReferences: valid forms", () => {
  test.each([
    ["${NAME}", { kind: "any", name: "NAME" }],
    ["${_a.b-c}", { kind: "any", name: "_a.b-c" }],
    ["${NAME:-some text}", { kind: "any", name: "NAME", fallback: "some text" }],
    ["${NAME:-}", { kind: "any", name: "NAME", fallback: "" }],
    ["${NAME:-a:-b $x {y}", { kind: "any", name: "NAME", fallback: "a:-b $x {y" }],
    ["${env:NAME}", { kind: "env", name: "NAME" }],
    ["${env:NAME:-x}", { kind: "env", name: "NAME", fallback: "x" }],
    ["${env:-x}", { kind: "any", name: "env", fallback: "x" }],
    ["${file:./a b/c.txt}", { kind: "file", name: "./a b/c.txt" }],
    ["${file:C:\\a:-b}", { kind: "file", name: "C:\\a:-b" }],
    ["${secrets.NAME}", { kind: "secret", name: "NAME" }],
    ["${secrets.a.b}", { kind: "secret", name: "a.b" }],
    ["${secrets}", { kind: "any", name: "secrets" }],
  ])("parses %s", (text, expected) => {
    expect(parseReferences(text)).toEqual({
      parts: [{ ...expected, start: 0, end: text.length }],
      problems: [],
    });
  });

  test("returns texts and references in order, each with its offsets", () => {
    expect(parseReferences("Bearer ${A}${B}!").parts).toEqual([
      { kind: "text", text: "Bearer ", start: 0, end: 7 },
      { kind: "any", name: "A", start: 7, end: 11 },
      { kind: "any", name: "B", start: 11, end: 15 },
      { kind: "text", text: "!", start: 15, end: 16 },
    ]);
  });

  test.each([
    ["$${NAME}", "${NAME}"],
    ["a$${b$${c", "a${b${c"],
    ["$$${X}", "$${X}"],
    ["$NAME {x} $ $$ }", "$NAME {x} $ $$ }"],
    ["", ""],
  ])("reads %s as literal text", (text, expected) => {
    const { parts, problems } = parseReferences(text);
    expect(problems).toEqual([]);
    expect(fillReferences(parts, () => "WRONG")).toBe(expected);
  });
});

describe("parseReferences: malformed references", () => {
  test.each([
    ["a ${", 2],
    ["${NAME", 0],
    ["${}", 0],
    ["x${1a}", 1],
    ["${a b}", 0],
    ["${NAME:default}", 0],
    ["${input:token}", 0],
    ["${env:}", 0],
    ["${env:a b}", 0],
    ["${secrets.}", 0],
    ["${secrets.1}", 0],
    ["${file:}", 0],
    ["${file:a\nb}", 0],
    ["${A:-${B}}", 0],
    [`\${${"a".repeat(257)}}`, 0],
  ])("%j gives a problem at offset %d and stays text", (text, offset) => {
    const { parts, problems } = parseReferences(text);
    expect(problems).toEqual([{ message: expect.any(String) as string, offset }]);
    expect(fillReferences(parts, () => "WRONG")).toBe(text);
  });

  test("the other references are still parsed, and no message repeats the malformed text", () => {
    const text = "${hunter 2} ${OK} ${";
    const { problems } = parseReferences(text);
    expect(references(text).map(({ name }) => name)).toEqual(["OK"]);
    expect(problems.map(({ offset }) => offset)).toEqual([0, 18]);
    expect(JSON.stringify(problems)).not.toContain("hunter");
  });
});

const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_.-]{0,12}$/).filter((it) => !it.startsWith("secrets."));
const literal = fc.string({ unit: fc.constantFrom("$", "{", "}", "a", ":", "-", "é", "\n", "${", "$${") });

describe("parseReferences: properties", () => {
  test("an escaped text is read back unchanged", () => {
    fc.assert(
      fc.property(literal, (text) => {
        const { parts, problems } = parseReferences(escapeReferences(text));
        expect(problems).toEqual([]);
        expect(fillReferences(parts, () => "WRONG")).toBe(text);
      }),
    );
  });

  test("finds every reference in a text, with its name and its offsets", () => {
    // A text that ends in $ right before a reference cannot be written.
    const piece = fc.record({ before: literal.filter((text) => !text.endsWith("$")), name });
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const text = pieces.map((it) => `${escapeReferences(it.before)}\${${it.name}}`).join("");
        const found = references(text);
        expect(found.map((it) => it.name)).toEqual(pieces.map((it) => it.name));
        for (const it of found) expect(text.slice(it.start, it.end)).toBe(`\${${it.name}}`);
        const expected = pieces.map((it) => `${it.before}<${it.name}>`).join("");
        expect(fillReferences(parseReferences(text).parts, (it) => `<${it.name}>`)).toBe(expected);
      }),
    );
  });

  test("the parts cover any text without gaps", () => {
    fc.assert(
      fc.property(literal, (text) => {
        let at = 0;
        for (const part of parseReferences(text).parts) {
          expect(part.start).toBe(at);
          expect(part.end).toBeGreaterThan(at);
          at = part.end;
        }
        expect(at).toBe(text.length);
      }),
    );
  });

  test("fillReferences inserts a value once, and does not resolve references inside the value", () => {
    fc.assert(
      fc.property(name, literal, literal, (it, value, tail) => {
        const requested: string[] = [];
        const { parts } = parseReferences(`\${${it}}${escapeReferences(tail)}`);
        const filled = fillReferences(parts, (reference) => {
          requested.push(reference.name);
          return `${value}\${${it}}`;
        });
        expect(requested).toEqual([it]);
        expect(filled).toBe(`${value}\${${it}}${tail}`);
      }),
    );
  });

  test("the time for a long hostile text grows only linearly", () => {
    // With quadratic work, this would take hours, and exceed the time limit of the test.
    parseReferences("${".repeat(500_000));
    parseReferences("$${".repeat(500_000));
    parseReferences("${a}".repeat(200_000));
  });
});
