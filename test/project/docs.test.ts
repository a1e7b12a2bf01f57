// The documents say what the software does: codes, limits, links.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import manifest from "../../package.json" with { type: "json" };
import { validateFiles } from "../../src/catalog/index.ts";
import { ERROR_CODES } from "../../src/errors/index.ts";
import { WORKSPACE_OPTIONS } from "../../src/hub/index.ts";
import { DEFAULT_LIMITS } from "../../src/model/index.ts";
import { VERSION } from "../../src/client/index.ts";
import { temporaryFolder } from "../helpers/cli.ts";
import { blocksOf, compileSnippets, PAGES } from "../helpers/docs-snippets.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const rows = (text: string): string[][] =>
  text
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim().replace(/^`|`$/g, "")),
    );

it("docs/reference/errors.md has all error codes with their hints and numbers, and no other code", () => {
  // Another table lists the fields of `data`.
  const documented = rows(read("docs/reference/errors.md")).filter(([code = ""]) => /^[A-Z_]+$/.test(code));
  const codes = Object.entries(ERROR_CODES);
  const meanings = documented.slice(0, codes.length);
  expect(meanings.map(([code, , hint]) => [code, hint])).toEqual(
    codes.map(([code, { hint }]) => [code, hint]),
  );
  for (const [, meaning = ""] of meanings) expect(meaning).toMatch(/^[A-Z].*\.$/);
  expect(documented.slice(codes.length)).toEqual(
    codes.map(([code, { exit, http, jsonrpc }]) => [code, String(exit), String(http), String(jsonrpc)]),
  );
});

it("docs/reference/api is the current output of npm run docs:api", () => {
  const { stderr } = spawnSync(process.execPath, ["scripts/api-docs.mjs", "--check"], {
    cwd: root,
    encoding: "utf8",
  });
  expect(stderr).toBe("");
});

it("docs/reference/events.md has every event with its fields", () => {
  // Each row of a table and each item of a list is an entry.
  const entries = read("docs/reference/events.md").split(/\n(?=[|-] )/);
  const sources = read("src/hub/events.ts") + read("src/contracts/dispatch/audit.ts");
  const types = [...sources.matchAll(/^export interface (\w+Event)\b[^]*?^\}/gm)];
  expect(types.length).toBeGreaterThan(10);
  for (const { 0: text, 1: type = "" } of types) {
    const page = entries.filter((entry) => entry.includes(`\`${type}\``)).join(" ");
    const names =
      text.match(/"(?:mcp|gateway|driver|secret)\.[^"]+"/g)?.map((name) => name.replaceAll('"', "`")) ?? [];
    const fields = [...text.matchAll(/^ {2}readonly (\w+\??):/gm)].map(([, field]) => `\`${field}\``);
    const missing = [...names, ...fields].filter((one) => one !== "`type`" && !page.includes(one));
    expect({ type, missing }).toEqual({ type, missing: [] });
  }
});

it("docs/reference/limits.md has every limit with its default", () => {
  const documented = rows(read("docs/reference/limits.md")).map(([name, value]) => [
    name,
    (value ?? "")
      .replace(/ /g, "")
      .replace(/(\d+)MiB/, (_, mebi: string) => String(Number(mebi) * 1024 * 1024)),
  ]);
  expect(Object.fromEntries(documented)).toEqual(
    Object.fromEntries(Object.entries(DEFAULT_LIMITS).map(([name, value]) => [name, String(value)])),
  );
});

/** The pages outside of docs/ that link to other files. */
const OTHER_PAGES = [
  ...readdirSync(root).filter((name) => name.endsWith(".md")),
  ...["bench", "examples", "src", "test/fixtures"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /(?:^|[\\/])README\.md$/.test(name))
      .map((name) => join(folder, name)),
  ),
];

/** The anchors of a page, as GitHub makes them from its headings. */
function anchorsOf(path: string): string[] {
  return Array.from(read(path).matchAll(/^#+ (.*)$/gm), ([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

it.each([...new Set([...OTHER_PAGES, ...PAGES])])(
  "the links of %s lead to existing files and headings",
  (page) => {
    for (const [, path = "", anchor] of read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)) {
      const target = path === "" ? page : join(dirname(page), path);
      expect(existsSync(join(root, target)), `${page} -> ${path}`).toBe(true);
      if (anchor !== undefined) expect(anchorsOf(target), `${page} -> ${path}#${anchor}`).toContain(anchor);
    }
  },
);

it("docs/reference/library.md and the API page have every option of openWorkspace(), and no internal type", () => {
  const page = readFileSync(join(root, "docs/reference/library.md"), "utf8");
  const section = page.slice(page.indexOf("## Workspace"), page.indexOf("### Health"));
  const rows = section.split("\n").filter((line) => line.startsWith("| `"));
  const named = rows.flatMap((row) =>
    [...(row.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, name = ""]) => name),
  );
  expect(named.toSorted()).toEqual(Object.keys(WORKSPACE_OPTIONS).toSorted());
  const api = readFileSync(join(root, "docs/reference/api/portolan.md"), "utf8");
  const [, declared = ""] = /### WorkspaceOptions\n(.*?)\n### /s.exec(api) ?? [];
  for (const name of named) expect(declared).toMatch(new RegExp(`\\*/\\n    readonly ${name}\\?: `));
  expect(declared).not.toContain("extends");
});

it("the files that ARCHITECTURE.md names exist", () => {
  const named = Array.from(
    read("ARCHITECTURE.md").matchAll(/[\w.-]+(?:\/[\w.-]+)+\.ts\b/g),
    ([path]) => path,
  );
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((path) => ![path, join("src", path)].some((at) => existsSync(join(root, at))))).toEqual(
    [],
  );
});

it("every page of docs/ is in its table of contents", () => {
  const listed = Array.from(read("docs/README.md").matchAll(/\]\(([^)]+)\)/g), ([, path]) => `docs/${path}`);
  const pages = PAGES.filter((page) => /^docs\/\w+\//.test(page) && !page.startsWith("docs/reference/api/"));
  expect(pages.filter((page) => !listed.includes(page))).toEqual([]);
});

it("a line of prose has at most 130 characters, and a line of a table at most 210", () => {
  for (const page of PAGES.filter((path) => !path.startsWith("docs/reference/api/"))) {
    let inBlock = false;
    for (const [index, line] of read(page).split("\n").entries()) {
      if (line.startsWith("```")) inBlock = !inBlock;
      const limit = inBlock || line.startsWith("|") ? 210 : 130;
      expect(line.length, `${page}:${index + 1}`).toBeLessThanOrEqual(limit);
    }
  }
});

it("the version that Portolan sends to servers is the version of package.json", () => {
  expect(VERSION).toBe(manifest.version);
});

it("the TypeScript of the documents compiles against the package's types", async () => {
  expect((await compileSnippets(temporaryFolder())).problems).toBe("");
});

it("each JSON block of the documents is a valid config file with the name that the text gives", async () => {
  const folder = temporaryFolder();
  for (const page of PAGES) {
    const lines = read(page).split("\n");
    for (const { text, line } of blocksOf(page).filter(({ language }) => language === "json")) {
      expect(() => JSON.parse(text) as unknown, `${page}:${line}`).not.toThrow();
      // The paragraph before the fence introduces the block.
      const introduction = lines.slice(lines.lastIndexOf("", line - 4) + 1, line - 3).join(" ");
      const [, name] = /`(?:~\/)?([^`]+\.json)`/.exec(introduction) ?? [];
      expect(name, `${page}:${line} is introduced by the name of its file`).toBeDefined();
      if (name === "tsconfig.json") continue;
      const file = join(folder, name as string);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
      const { files, diagnostics } = await validateFiles([file]);
      expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
      expect(files).toMatchObject([{ valid: true, aliases: ["portolan"] }]);
    }
  }
});

it("the YAML of the documents parses", () => {
  for (const page of PAGES) {
    for (const { text, line } of blocksOf(page).filter(({ language }) => language === "yaml")) {
      const errors = parseAllDocuments(text).flatMap((document) => document.errors);
      expect(errors, `${page}:${line}`).toEqual([]);
    }
  }
});
