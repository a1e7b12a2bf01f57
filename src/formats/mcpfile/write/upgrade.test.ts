import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { InvokedServer } from "../../../model/index.ts";
import { parseMcpfile } from "../read/parse.ts";
import { renderMcpfile } from "./render.ts";
import { MCPFILE_TEMPLATE } from "./starter.ts";
import { upgradeMcpfile } from "./upgrade.ts";

const path = (name: string): string =>
  fileURLToPath(new URL(`../../../../test/fixtures/mcpfiles/${name}`, import.meta.url));

/** A file of 0.0.1 with this command. */
function first(
  command: string,
  variables = "{}",
  properties = "{a: {type: string}, b: {type: string}}",
): string {
  return `mcpFileVersion: 0.0.1
servers:
- name: s
  version: 1.0.0
  tools:
  - name: t
    description: d
    inputSchema: {type: object, properties: ${properties}}
    invocation: {cli: {command: ${JSON.stringify(command)}, templateVariables: ${variables}}}`;
}

/** The servers of the old file and of the upgraded file. */
function bothWays(text: string, file: string): [readonly InvokedServer[], readonly InvokedServer[]] {
  const { files, diagnostics } = upgradeMcpfile(text, file);
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  const after = files.flatMap(({ text: written }) => parseMcpfile(written, file).servers);
  return [parseMcpfile(text, file).servers, after];
}

describe("an upgraded file has the same meaning", () => {
  test.each(["seed.yaml", "everything-0.2.yaml"])("as the file %s", (name) => {
    const [before, after] = bothWays(readFileSync(path(name), "utf8"), path(name));
    expect(after).toEqual(before);
    expect(before.length).toBeGreaterThan(0);
  });

  test("and the runtime is in a separate file", () => {
    const file = path("everything-0.1.yaml");
    const text = readFileSync(file, "utf8");
    const { files } = upgradeMcpfile(text, file);
    expect(files.map(({ name }) => name)).toEqual(["mcpfile.yaml", "mcpserver.yaml"]);
    const [[before], [after]] = bothWays(text, file);
    expect({ ...after, clientTls: before?.clientTls }).toEqual(before);
    expect(parseMcpfile(files[1]?.text ?? "", file).runtime).toEqual(parseMcpfile(text, file).runtime);
  });

  test.each<[string, string, string?]>([
    ["git log ${a} $${a} '$(x)' \"\" '' \"it's\" {{a}} ${{a}}", "{}", "{a: {type: string}}"],
    [
      "x {one} {two} {a}",
      "{one: {property: a, format: '-1 {a}'}, two: {property: a, format: --two, omitIfFalse: true}}",
      "{a: {type: string}}",
    ],
    ["x {a}", "{}, ignoredArguments: [b]"],
    ['x {a} "{a}" {a}{b}', "{a: {format: \"'{x}'\"}}"],
    ["x {p.q}", "{}", "{p: {type: object, properties: {q: {type: string}}}}"],
    ["x {p.q}", "{}", "{p.q: {type: string}}"],
  ])("for the command %s with templateVariables %s", (command, variables, properties) => {
    const [before, after] = bothWays(first(command, variables, properties), "f.yaml");
    expect(before[0]?.tools).toHaveLength(1);
    expect(after).toEqual(before);
  });

  test("for any words of a command", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "{a}",
        "{b}",
        "{v}",
        "{{",
        "}}",
        "$",
        "'",
        '"',
        "\\",
        " ",
        "${a}",
        "$$",
        "x",
        "\\'",
        "''",
        "=",
        "~",
        "*",
        "#",
      ),
      fc.string({ maxLength: 5 }),
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 12 }),
        fc.constantFrom("{}", "{a: {format: '-a {a}'}, b: {format: 'x{b}y'}}"),
        (pieces, variables) => {
          const text = first(`x ${pieces.join("")}`, variables);
          if (parseMcpfile(text, "f.yaml").diagnostics.some(({ severity }) => severity === "error")) return;
          const [before, after] = bothWays(text, "f.yaml");
          expect(after).toEqual(before);
        },
      ),
      { numRuns: 300 },
    );
  });
});

test("reports a file that version 0.2.0 cannot express", () => {
  const text = first("x {headers.a}", "{}", "{headers: {type: object, properties: {a: {type: string}}}}");
  expect(parseMcpfile(text, "f.yaml").diagnostics).toEqual([]);
  expect(upgradeMcpfile(text, "f.yaml")).toMatchObject({
    files: [],
    diagnostics: [
      {
        severity: "error",
        line: 3,
        column: 3,
        server: "s",
        message: expect.stringContaining("change of meaning") as string,
      },
    ],
  });
});

test("does not upgrade a file with errors", () => {
  expect(upgradeMcpfile(first("x {c}"), "f.yaml")).toMatchObject({
    files: [],
    diagnostics: [{ severity: "error" }],
  });
});

test("the starter file has no diagnostics, and writing and reading it gives the same server", () => {
  const { servers, diagnostics } = parseMcpfile(MCPFILE_TEMPLATE, "/w/mcpfile.yaml");
  expect(diagnostics).toEqual([]);
  expect(servers[0]?.tools.map(({ definition }) => definition.name)).toEqual([
    "evaluate",
    "node_version",
    "gateway_health",
  ]);
  expect(parseMcpfile(renderMcpfile(servers[0] as InvokedServer), "/w/mcpfile.yaml").servers).toEqual(
    servers,
  );
  expect(servers[0]?.tools[0]?.invocation).toMatchObject({ kind: "cli", timeoutMs: 10_000 });
});
