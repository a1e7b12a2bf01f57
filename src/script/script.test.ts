// Syntax and names of scripts: values, errors with their positions, limits, and hostile texts.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SCRIPT_LIMITS } from "./limits.ts";
import { parseScript } from "./script.ts";

const FILE = "x.mld";
const parse = (text: string, variables: string[] = []) => parseScript(text, { file: FILE, variables });
const errors = (text: string, variables: string[] = []) =>
  parse(text, variables).diagnostics.map(({ line, column, message }) => `${line}:${column} ${message}`);

const SEED = `# Import MCP server
@import mcp github from @alice/github-mcp

# Configure (prompts for token if not cached)
@mcp:config github {
  github_token: "{{GITHUB_TOKEN}}"
}

# Use tools
@mcp issue = github.create_issue({
  repo: "mlld-lang/mlld",
  title: "Feature request: Add MCP support",
  body: "It would be great if..."
})

# Access resources
@mcp repo = github.resource("github://repos/mlld-lang/mlld")
`;

test("parses the example script of the package format", () => {
  const { script, diagnostics } = parse(SEED);
  expect(diagnostics).toEqual([]);
  expect(script?.statements.map(({ kind }) => kind)).toEqual([
    "import-package",
    "config",
    "call-tool",
    "call-tool",
  ]);
  expect(script?.names.secrets).toMatchObject([{ name: "GITHUB_TOKEN", variable: "GITHUB_TOKEN" }]);
  expect(parse(SEED.replaceAll("\n", "\r\n")).script?.statements).toEqual(script?.statements);
});

test("parses the current syntax of imports, variables and calls", () => {
  const text = [
    'import tools from mcp "node server.mjs --x" as @gh',
    "import tools { @create_issue as @mk, @list } from mcp 'node other.mjs'",
    "var @a = @gh.createIssue('r', \"t\")",
    "/var @b = @mk({ repo: @a.repo, })",
    "@list() >> a comment",
    "show @a.title",
  ];
  const { script, diagnostics } = parse(text.join("\n"));
  expect(diagnostics).toEqual([]);
  const calls = [...(script?.names.calls.values() ?? [])].map(
    ({ server, tool }) => `${server.label} ${tool}`,
  );
  expect(calls).toEqual(["gh createIssue", "node other.mjs create_issue", "node other.mjs list"]);
});

test("keeps text that looks like a statement, and removes the escapes of escaped text", () => {
  const { script } = parse("show me\nimport taxes\nvar x\n\\# a\n  \\@b \\{{c}}\n\n\\show @x\n");
  const [only, ...more] = script?.statements ?? [];
  expect(more).toEqual([]);
  const parts = only?.kind === "show" && only.value.kind === "template" ? only.value.parts : [];
  expect(parts.map(String).join("")).toBe("show me\nimport taxes\nvar x\n# a\n  @b {{c}}\n\nshow @x");
});

describe("errors have a position, and are reported all at once", () => {
  test.each<[string, string[]]>([
    ["@import mcp x from y", ['1:20 The name of a package is expected, not "y".']],
    ["@import mcp x from @a/b@1", ["1:24 A script cannot choose the version of a package."]],
    ["@import x from @a/b", ['1:9 "mcp" is expected after @import, not "x".']],
    ["@tex a = 1", ['1:1 "@tex" is not a directive.']],
    ['@text a = "b', ['1:11 The text is not closed: " is missing.']],
    ["@text a = [[b", ["1:11 The template is not closed: ]] is missing."]],
    ["@data a = { b: 1 c: 2 }", ['1:18 A comma or } is expected after the field "b", not "c".']],
    ["@data a = { b: 1, b: 2 }", ['1:19 The object has two fields "b".']],
    ["@data a = {\n  b: [1,\n", ["3:1 A value is expected, not the end of the script."]],
    ["@data a = 1 2", ['1:13 The statement ends here, but "2" follows.']],
    ["@data a = 01", ['1:11 "01" is not a number.']],
    ['@data a = "\\q"', ["1:12 \\q is not an escape."]],
    ["a {{b", ['1:6 "}}" is expected after a variable, not the end of the script.']],
    ["{{a b}}", ['1:5 "}}" is expected after a variable, not "b".']],
    ["{{b}}", ['1:1 There is no variable "b".']],
    ["@data a = { b: c.d() }", ["1:16 A call cannot be a part of a value."]],
    ['@text a = "1"\n@text a = "2"', ['2:7 The name "a" is defined already, in line 1.']],
    ["@mcp a = b.c()", ['1:10 There is no imported server "b".']],
    ["@import mcp x from @a/b\n{{x.y}}", ['2:1 "x" is a server, not a variable.']],
    [
      "@import mcp x from @a/b\n@mcp a = x.b()\n@mcp:config x { }",
      ["3:1 x is used before it is configured."],
    ],
    [
      'import tools from mcp "a b" as @x\n@mcp:config x { path: "a" }',
      [
        "2:17 A script must not set PATH: this variable can change which code a program runs, or which files and hosts it uses.",
      ],
    ],
    [
      "@import mcp x from @a/b\n@mcp:config x { a_b: 1, aB: 2 }",
      ["2:25 The settings a_b and aB both set the environment variable A_B."],
    ],
    ['import tools { } from mcp "a b"', ["1:14 The list of tools is empty."]],
    ['import tools from mcp "{{a}} b" as @x', ["1:23 This text cannot contain {{…}}."]],
    // A broken definition causes no second error, and later errors are found.
    [
      "@text a = b\n{{a}} {{c}}\n@data x = {\n  y: ,\n}\nshow @x\n@nope",
      [
        '1:11 A text is expected, not "b".',
        '2:7 There is no variable "c".',
        '4:6 A value is expected, not ",".',
        '7:1 "@nope" is not a directive.',
      ],
    ],
  ])("%j", (text, expected) => {
    expect(errors(text)).toEqual(expected);
  });

  test.each(['{ @fs.read } from mcp "a b"', '{ @1 } from mcp "a b"', '@fs.read from mcp "a b"'])(
    "the hint for a wrong import %j shows the right syntax",
    (rest) => {
      expect(parse(`import tools ${rest}`).diagnostics).toMatchObject([
        { hint: expect.stringMatching(/^Write import tools from mcp/) as string },
      ]);
    },
  );

  test("a variable of the caller that the script does not have is an error", () => {
    const script = '@text name = "World"\nHello {{name}} and {{other}}';
    expect(parse(script, ["nme", "other"]).diagnostics).toMatchObject([
      {
        message: '--var sets the variable "nme", but the script has no variable of this name.',
        hint: 'Did you mean "name"?',
      },
    ]);
    expect(parse("Hello", ["x"]).diagnostics).toMatchObject([{ hint: "Leave out --var x=…." }]);
    expect(errors(script, ["name", "other"])).toEqual([]);
    const config = '@import mcp x from @u/p\n@mcp:config x { a: one, b: "{{two}}" }\nshow @x.t(three)';
    expect(errors(config, ["one", "two", "three"])).toEqual([]);
    expect(errors("@nope {{x}}", ["x"])).toEqual(['1:1 "@nope" is not a directive.']);
  });

  test("the caller's variables are known, but results cannot be set", () => {
    expect(errors("{{a}}", ["a"])).toEqual([]);
    expect(errors("@import mcp x from @u/p\n@mcp a = x.t()", ["a"])).toEqual([
      '2:6 The script sets the variable "a" itself, so --var cannot set it.',
    ]);
  });
});

describe("limits of a script", () => {
  const deep = (depth: number): string => `@data a = ${"[ ".repeat(depth)}${"]".repeat(depth)}`;
  test.each<[string, string, string]>([
    ["size", "x".repeat(SCRIPT_LIMITS.bytes + 1), "is larger than"],
    ["depth", deep(100_000), "nested more than"],
    [
      "statements",
      Array.from({ length: 1_001 }, (_, i) => `@data a${i} = 1`).join("\n"),
      "more than 1000 statements",
    ],
    ["errors", "@x\n".repeat(10_000), "the rest of it was not checked"],
    [
      "imports",
      Array.from({ length: 21 }, (_, i) => `@import mcp a${i} from @a/b`).join("\n"),
      "more than 20 servers",
    ],
  ])("%s", (_, text, message) => {
    const { script, diagnostics } = parse(text);
    expect(script).toBeUndefined();
    expect(diagnostics.length).toBeLessThanOrEqual(SCRIPT_LIMITS.errors + 2);
    expect(diagnostics.at(-1)?.message).toContain(message);
  });
  test("depth within the limit", () => expect(errors(deep(SCRIPT_LIMITS.depth))).toEqual([]));
});

test("any text parses to a script or to errors within it", () => {
  const piece = fc.constantFrom(
    ...[
      "@import mcp x from @a/b\n",
      "@mcp:config x {",
      "@mcp y = x.t(",
      "@text z = ",
      '"',
      "[[",
      "]]",
      "{{",
      "}}",
    ],
    ...[
      "{",
      "}",
      "(",
      ")",
      ",",
      ":",
      "x",
      ".y",
      "[0]",
      "\n",
      "\\",
      "#",
      ">>",
      "1",
      "-",
      "show @z\n",
      "é",
      "\u0000",
    ],
  );
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(piece, { maxLength: 40 }).map((all) => all.join("")),
  );
  fc.assert(
    fc.property(text, (script) => {
      const lines = script.split("\n");
      for (const { line = 0, column = 0 } of parse(script).diagnostics) {
        expect(line).toBeLessThanOrEqual(lines.length);
        expect(column).toBeLessThanOrEqual((lines[line - 1] ?? "").length + 1);
      }
    }),
  );
});
