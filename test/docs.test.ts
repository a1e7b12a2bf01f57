// The documents say what the software does: codes, limits, links.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import manifest from "../package.json" with { type: "json" };
import { validateFiles } from "../src/catalog/index.ts";
import { ERROR_CODES } from "../src/errors/index.ts";
import { DEFAULT_LIMITS } from "../src/model/index.ts";
import { VERSION } from "../src/client/index.ts";
import { temporaryFolder } from "./cli-helpers.ts";
import { blocksOf, compileSnippets, PAGES } from "./docs-snippets.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
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

it("docs/errors.md has every error code with its faces, and no other", () => {
  const faces = Object.entries(ERROR_CODES).map(([code, { hint, exit, http, jsonrpc }]) => [
    code,
    hint,
    String(exit),
    String(http),
    String(jsonrpc),
  ]);
  expect(rows(read("docs/errors.md"))).toEqual(faces);
});

it("docs/behaviour.md has every limit with its default", () => {
  const documented = rows(read("docs/behaviour.md")).map(([name, value]) => [
    name,
    (value ?? "")
      .replace(/ /g, "")
      .replace(/(\d+)MiB/, (_, mebi: string) => String(Number(mebi) * 1024 * 1024)),
  ]);
  expect(Object.fromEntries(documented)).toEqual(
    Object.fromEntries(Object.entries(DEFAULT_LIMITS).map(([name, value]) => [name, String(value)])),
  );
});

it("links between documents lead somewhere", () => {
  const pages = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "bench/README.md",
    "test/fixtures/README.md",
  ];
  for (const page of [...pages, ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`)]) {
    for (const [, target] of read(page).matchAll(/\]\((?!https?:)([^)#\s]+)/g)) {
      expect(existsSync(join(root, dirname(page), target as string)), `${page} -> ${target}`).toBe(true);
    }
  }
});

it("the version that servers are told is the package's", () => {
  expect(VERSION).toBe(manifest.version);
});

it("the TypeScript of the documents compiles against the package's types", async () => {
  expect((await compileSnippets(temporaryFolder())).problems).toBe("");
});

it("the JSON of the documents is that of a valid config file, in the place that the text names", async () => {
  const folder = temporaryFolder();
  for (const page of PAGES) {
    const lines = read(page).split("\n");
    for (const { text, line } of blocksOf(page).filter(({ language }) => language === "json")) {
      expect(() => JSON.parse(text) as unknown, `${page}:${line}`).not.toThrow();
      // Two lines before the fence is the sentence that introduces the block.
      const [, name] = /`(?:~\/)?([^`]+\.json)`/.exec(lines[line - 4] ?? "") ?? [];
      expect(name, `${page}:${line} is introduced by the name of its file`).toBeDefined();
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
