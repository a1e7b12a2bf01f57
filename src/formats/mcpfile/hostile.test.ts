// Hostile files and values: reading is quick and never throws, and an accepted script never runs a value.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readMcpfile, parseMcpfile, upgradeMcpfile } from "./index.ts";

const fixture = (name: string): string =>
  readFileSync(new URL(`../../../test/fixtures/mcpfiles/${name}`, import.meta.url), "utf8");
const FILES = ["seed.yaml", "everything-0.1.yaml", "everything-0.2.yaml", "mcpserver.yaml"].map(fixture);

function survives(text: string): void {
  // This is CPU time, so that a busy machine does not fail the test.
  const before = process.cpuUsage();
  for (const read of [parseMcpfile, readMcpfile, upgradeMcpfile]) {
    const { diagnostics } = read(text, "f.yaml");
    for (const { line, column, message } of diagnostics) {
      expect(message).not.toBe("");
      expect((line ?? 1) >= 1 && (column ?? 1) >= 1).toBe(true);
    }
  }
  expect(process.cpuUsage(before).user).toBeLessThan(10_000_000);
}

describe("hostile input", () => {
  test("random text is read without an exception", () => {
    fc.assert(fc.property(fc.string({ maxLength: 200 }), survives));
  });

  test("random words of the format are read without an exception", () => {
    const words = fc.constantFrom(
      ..."mcpFileVersion: kind: schemaVersion: 0.0.1 0.1.0 0.2.0 MCPToolDefinitions servers: tools: name: version: description: inputSchema: invocation: http: cli: extends: from: invocationBases: command: url: {a} ${B} {{ }} { } [ ] - * & ! | > ' \" \n \n\u0020\u0020 \n- , : # \0".split(
        " ",
      ),
      "\n",
      "\n  ",
      "\n- ",
      " ",
    );
    fc.assert(
      fc.property(fc.array(words, { maxLength: 60 }), (list) => survives(list.join(" "))),
      { numRuns: 300 },
    );
  });

  test("a valid file with a part removed, doubled or replaced is read without an exception", () => {
    const change = fc.tuple(
      fc.constantFrom(...FILES),
      fc.nat(),
      fc.nat(40),
      fc.string({ maxLength: 6 }),
      fc.boolean(),
    );
    fc.assert(
      fc.property(change, ([text, at, length, more, keep]) => {
        const from = at % text.length;
        survives(text.slice(0, from) + more + text.slice(keep ? from : from + length));
      }),
      { numRuns: 300 },
    );
  });

  test.each<[string, () => string]>([
    ["deep", () => `mcpFileVersion: 0.0.1\nservers: ${"[".repeat(5_000)}`],
    ["many braces", () => tools(1, "{".repeat(60_000))],
    ["many placeholders", () => tools(1, "{a}".repeat(20_000))],
    ["a long text", () => tools(1, "x".repeat(100_000))],
    [
      "many unknown placeholders",
      () => tools(500, Array.from({ length: 20 }, (_, index) => `{aaaaaaaaaaaaaaaa${index}}`).join(" ")),
    ],
    ["many quotes", () => tools(1, `'"`.repeat(30_000))],
    ["many tools", () => tools(5_000, "x {a}")],
    ["a long chain of bases", () => chain(2_000)],
    [
      "a text of an anchor",
      () => `mcpFileVersion: 0.0.1\nx-a: &a ${"x".repeat(500_000)}\nservers: [${"*a, ".repeat(30)}]`,
    ],
  ])("is read quickly: %s", (_, make) => {
    survives(make());
  });
});

function tools(count: number, command: string): string {
  const properties = Array.from({ length: 300 }, (_, index) => `p${index}aaaaaaaaaaaaaa: {}`).join(", ");
  const tool = (index: number): string =>
    `- {name: t${index}, description: d, inputSchema: {properties: {a: {}${index === 0 ? `, ${properties}` : ""}}}, invocation: {cli: {command: ${JSON.stringify(`x ${command}`)}}}}`;
  return `mcpFileVersion: 0.1.0\nname: a\nversion: 1.0.0\ntools:\n${Array.from({ length: count }, (_, index) => tool(index)).join("\n")}`;
}

function chain(length: number): string {
  const bases = Array.from(
    { length },
    (_, index) => `  b${index}: {extends: {from: b${index + 1}, extend: {command: x}}}`,
  );
  return `mcpFileVersion: 0.1.1\nname: a\nversion: 1.0.0\ninvocationBases:\n${bases.join("\n")}\n  b${length}: {cli: {command: x}}`;
}

describe.skipIf(process.platform === "win32")("a value in an accepted shell script", () => {
  const VALUES = [
    "$(touch C)",
    "`touch C`",
    "'; touch C; '",
    '"; touch C; "',
    "\ntouch C\n",
    "\\'; touch C #",
    "a[$(touch C)]",
    "x' $(touch C) \"'\"`touch C`",
  ];

  test("is never executed by the shell", () => {
    const folder = mkdtempSync(join(tmpdir(), "portolan-script-"));
    const piece = fc.constantFrom(
      ..."{x} {x} {x} ' \" \\ $ $( ) ` ( (( )) # ; | && \n : echo a= <<E \nE\n ${{ }} $' [ ] [[ -eq a[ case in esac done".split(
        " ",
      ),
      " ",
      " ",
      "\n",
    );
    try {
      fc.assert(
        fc.property(
          fc.array(piece, { minLength: 2, maxLength: 10 }),
          fc.constantFrom(...VALUES),
          (pieces, value) => {
            const script = scriptOf(`: ${pieces.join("")}`);
            if (script === undefined || !script.includes("\0")) return;
            const quoted = `'${value.replaceAll("'", "'\\''")}'`;
            try {
              execFileSync("bash", ["-c", `p=${quoted}\n${script.replaceAll("\0", '"${p}"')}`], {
                cwd: folder,
                stdio: "ignore",
                timeout: 5_000,
                env: { PATH: process.env.PATH },
              });
            } catch {
              // A script with syntax errors does not matter here.
            }
            expect(existsSync(join(folder, "C")), JSON.stringify({ script, value })).toBe(false);
          },
        ),
        { numRuns: 400 },
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  /** The script with a NUL character for each placeholder. */
  function scriptOf(command: string): string | undefined {
    const text = `mcpFileVersion: 0.1.0\nname: a\nversion: 1.0.0\ntools:\n- {name: t, description: d, inputSchema: {properties: {x: {}}}, invocation: {cli: {shell: true, command: ${JSON.stringify(command)}}}}`;
    const invocation = parseMcpfile(text, "f.yaml").servers[0]?.tools[0]?.invocation;
    if (invocation?.kind !== "cli") return undefined;
    return invocation.shell?.script.map((part) => (part.kind === "text" ? part.text : "\0")).join("");
  }
});
