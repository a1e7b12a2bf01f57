// The documents say what the software does: codes, limits, links.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import manifest from "../package.json" with { type: "json" };
import { ERROR_CODES } from "../src/errors/index.ts";
import { DEFAULT_LIMITS } from "../src/model/index.ts";
import { VERSION } from "../src/tools/index.ts";

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
