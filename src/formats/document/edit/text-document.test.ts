import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openDocument, type SyntaxName } from "./index.ts";

/** The same value in three syntaxes, with comments, odd blanks and unusual quotes. */
const TEXTS: Readonly<Record<SyntaxName, string>> = {
  json: `// about all
{
  "title" :  "one", // a title
  "list": [1, 2], /* two */
  "servers": {
    // about a
    "a": { "command": "x", "args": ["-y"] },

    "b": {
      "command": "y", // why
      "env": {
        "KEY": "v"
      }
    } // end of b
  },
  "last": true
}
`,
  toml: `# about all
title =  'one' # a title
list = [1, 2] # two
last = true

[servers] # all of them

# about a
[servers.a]
command = "x"
args = [ '-y' ]

[servers.b] # b
command = """y""" # why

[servers.b.env]
KEY = 'v'
`,
  yaml: `# about all
title:   'one' # a title
list: [1,  2] # two
servers: # all of them
  # about a
  a: {command: x, args: ["-y"]}

  # about b
  b:
    command: >-
      y
    env:
    - &unused KEY
    # end of env

last: true
`,
};

const syntaxes = Object.keys(TEXTS) as SyntaxName[];
const word = fc.stringMatching(/^[a-z][a-z-]{0,5}$/);
const scalar = fc.oneof(
  fc.string({ maxLength: 50 }),
  fc.string({ maxLength: 6, unit: "grapheme" }),
  fc.constantFrom(
    "",
    " ",
    "a: b",
    "# no",
    "- x",
    "a,b",
    "null",
    "yes",
    "1.0",
    "0x1",
    "2026-01-01",
    "\n",
    "\t\r\n",
    "'",
    '"',
    "\\",
  ),
  fc.integer(),
  fc.boolean(),
);
const value = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 3 }),
  fc.dictionary(word, fc.oneof(scalar, fc.dictionary(word, scalar, { maxKeys: 2 })), { maxKeys: 3 }),
);

/** A text of the syntax, perhaps with the line ends of Windows and a byte order mark. */
function variant(syntax: SyntaxName, isWindows: boolean, hasMark: boolean): string {
  const text = isWindows ? TEXTS[syntax].replaceAll("\n", "\r\n") : TEXTS[syntax];
  return (hasMark ? "\uFEFF" : "") + text;
}

describe.each(syntaxes)("a %s document", (syntax) => {
  test("supports get, set, append and delete", () => {
    const document = openDocument(syntax, TEXTS[syntax]);
    expect(document.get(["servers", "a", "args", 0])).toBe("-y");
    expect(document.get(["servers", "a", "args", "length"])).toBeUndefined();
    expect(document.render()).toBe(TEXTS[syntax]);
    const edited = document
      .append(["list"], 3)
      ?.set(["servers", "a", "env", "A"], "1")
      ?.set(["new", "deep"], [])
      ?.delete(["last"]);
    expect(edited?.value).toMatchObject({
      title: "one",
      list: [1, 2, 3],
      new: { deep: [] },
      servers: { a: { command: "x", args: ["-y"], env: { A: "1" } }, b: { command: "y" } },
    });
    expect(edited?.get(["last"])).toBeUndefined();
    for (const comment of ["about all", "a title", "two", "about a"])
      expect(edited?.render()).toContain(comment);
  });

  test("sets a value in an empty text", () => {
    expect(openDocument(syntax, " \n").set(["a", "b"], 1)?.value).toEqual({ a: { b: 1 } });
    expect(openDocument(syntax, "\uFEFF").set(["a"], 1)?.render()).toMatch(/^\uFEFF.*a/s);
  });

  test("does not change a text with syntax errors", () => {
    const broken = openDocument(syntax, "{ = [");
    expect(broken.problems.length).toBeGreaterThan(0);
    expect(broken.set(["a"], 1)).toBeUndefined();
  });

  test("a replacement changes only the bytes of the value", () => {
    const places = [
      ["title"],
      ["list", 1],
      ["servers", "a", "command"],
      ["servers", "a", "args"],
      ["servers", "a", "args", 0],
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(...places),
        value,
        fc.boolean(),
        fc.boolean(),
        (path, wanted, isWindows, hasMark) => {
          const document = openDocument(syntax, variant(syntax, isWindows, hasMark));
          const { start = 0, end = 0 } = document.rangeOf(path) ?? {};
          const edited = document.set(path, wanted);
          expect(edited?.get(path)).toEqual(wanted);
          expect(edited?.text.slice(0, start)).toBe(document.text.slice(0, start));
          expect(edited?.text.endsWith(document.text.slice(end))).toBe(true);
          expect(edited?.render().startsWith("\uFEFF")).toBe(hasMark);
        },
      ),
      { numRuns: 60 },
    );
  });

  test("removing an added value restores the text", () => {
    const places = [[], ["servers"], ["servers", "a"], ["servers", "b"]];
    fc.assert(
      fc.property(
        fc.constantFrom(...places),
        value,
        fc.boolean(),
        fc.boolean(),
        (parent, wanted, isWindows, hasMark) => {
          const text = variant(syntax, isWindows, hasMark);
          const path = [...parent, "added"];
          const added = openDocument(syntax, text).set(path, wanted);
          expect(added?.get(path)).toEqual(wanted);
          expect(
            added
              ?.render()
              .replaceAll("\r\n", "")
              .includes(isWindows ? "\n" : "\r"),
          ).toBe(false);
          expect(added?.delete(path)?.render()).toBe(text);
        },
      ),
      { numRuns: 60 },
    );
  });

  test("removing a value removes no other line", () => {
    const paths = [
      ["title"],
      ["list"],
      ["list", 0],
      ["servers", "a"],
      ["servers", "b"],
      ["servers", "b", "command"],
      ["servers", "b", "env"],
      ["last"],
    ];
    for (const isWindows of [false, true])
      for (const path of paths) {
        const document = openDocument(syntax, variant(syntax, isWindows, false));
        const edited = document.delete(path);
        expect(edited, JSON.stringify(path)).toBeDefined();
        expect(isPartOf(edited?.text ?? "", document.text)).toBe(true);
      }
  });
});

/** Whether the other text contains all characters of a text in the same order. */
function isPartOf(text: string, whole: string): boolean {
  let at = 0;
  for (const character of whole) if (character === text[at]) at += 1;
  return at === text.length;
}

test("refuses to change a YAML value that an alias in the text depends on", () => {
  const shared = openDocument("yaml", "a: &x {b: 1, d: 1}\nc: *x\n");
  expect(shared.delete(["a"])).toBeUndefined();
  expect(shared.set(["a", "b"], 2)).toBeUndefined();
  expect(shared.set(["c", "b"], 2)).toBeUndefined();
  expect(shared.set(["c"], 2)?.render()).toBe("a: &x {b: 1, d: 1}\nc: 2\n");
});

test("edits TOML arrays of tables, dotted TOML keys and items of YAML lists", () => {
  const toml = openDocument("toml", '[[jobs]]\nname = "a"\n[jobs.env]\nX = 1\n\n[other]\nz.y = 1\n');
  expect(toml.append(["jobs"], { name: "b" })?.render()).toBe(
    '[[jobs]]\nname = "a"\n[jobs.env]\nX = 1\n\n[[jobs]]\nname = "b"\n\n[other]\nz.y = 1\n',
  );
  expect(toml.set(["jobs", 0, "env", "X"], 2)?.get(["jobs"])).toEqual([{ name: "a", env: { X: 2 } }]);
  expect(toml.set(["other", "z", "x"], 2)?.render()).toContain("z.y = 1\nz.x = 2\n");
  expect(toml.set(["top"], 1)?.value).toMatchObject({ top: 1, other: { z: { y: 1 } } });
  const yaml = openDocument("yaml", "a:\n- x # one\n# about y\n- y\n-   z: 1\n    w: 2\n");
  expect(yaml.delete(["a", 1])?.render()).toBe("a:\n- x # one\n-   z: 1\n    w: 2\n");
  expect(yaml.delete(["a", 2, "z"])?.render()).toBe("a:\n- x # one\n# about y\n- y\n-   w: 2\n");
  expect(yaml.append(["a"], { b: 1 })?.render()).toBe(`${yaml.text}- b: 1\n`);
  expect(openDocument("yaml", "a: |+\n  x\n\nb: 1\n...\n").set(["c"], 1)?.render()).toBe(
    "a: |+\n  x\n\nb: 1\nc: 1\n...\n",
  );
});
