// The layer order, proven apart from lint: a plain scan of the import statements under src/.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import manifest from "../package.json" with { type: "json" };

/** Data goes down this list: a room imports only from the rooms above it. The same list stands in ARCHITECTURE.md. */
const ORDER = [
  "errors",
  "model",
  "schema",
  "formats",
  "catalog",
  "secrets",
  "lock",
  "launch",
  "upstream",
  "invoke",
  "client",
  "contracts",
  "hub",
  "registry",
  "gateway",
  "adapters",
  "console",
  "script",
  "cli",
];

const root = fileURLToPath(new URL("..", import.meta.url));
const src = join(root, "src");

interface Import {
  readonly from: string;
  readonly to: string;
  readonly typeOnly: boolean;
}

const files = readdirSync(src, { recursive: true, encoding: "utf8" })
  .map((path) => path.split(sep).join("/"))
  .filter((path) => path.endsWith(".ts"))
  .sort();
const imports = files.flatMap((from) =>
  findImports(readFileSync(join(src, from), "utf8")).map(({ specifier, typeOnly }): Import => {
    const target = resolve(src, dirname(from), specifier);
    return { from, to: relative(src, target).split(sep).join("/"), typeOnly };
  }),
);
const rooms = readdirSync(src, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

describe("layers", () => {
  test("every folder of src/ is a room with a place in the order, and only the entries stand outside of one", () => {
    expect(rooms.filter((room) => !ORDER.includes(room))).toEqual([]);
    expect(files.filter((file) => !file.includes("/"))).toEqual(["drivers.ts", "index.ts"]);
  });

  test("a room imports only from the rooms above it", () => {
    const wrong = imports.filter(({ from, to }) => isInSrc(to) && rank(to) > rank(from));
    expect(wrong.map(describeImport)).toEqual([]);
  });

  test("another room is imported only through its index.ts", () => {
    const wrong = imports.filter(({ from, to }) => isInSrc(to) && roomOf(to) !== roomOf(from) && !isDoor(to));
    expect(wrong.map(describeImport)).toEqual([]);
  });

  test("what ships reaches nothing outside of src/", () => {
    const wrong = imports.filter(
      ({ from, to }) => !from.endsWith(".test.ts") && !isInSrc(to) && to !== "../package.json",
    );
    expect(wrong.map(describeImport)).toEqual([]);
  });

  test("imports that exist at run time form no cycle", () => {
    expect(findCycle(imports.filter((found) => !found.typeOnly))).toEqual([]);
  });

  test("lint enforces the same order in every room", () => {
    const { overrides } = JSON.parse(readFileSync(join(root, ".oxlintrc.json"), "utf8")) as {
      overrides: LintOverride[];
    };
    for (const room of ORDER) {
      const found = overrides.find(
        ({ files: globs }) => globs.length === 1 && globs[0] === `src/${room}/**/*.ts`,
      );
      expect(found?.rules["no-restricted-imports"], `the override for src/${room} in .oxlintrc.json`).toEqual(
        lintRule(room),
      );
    }
  });
});

describe("the public surface", () => {
  test("the package offers two entries and one command", () => {
    expect(Object.keys(manifest.exports)).toEqual([".", "./drivers", "./package.json"]);
    expect(manifest.exports["."]).toEqual({ types: "./dist/index.d.ts", default: "./dist/index.js" });
    expect(manifest.bin).toEqual({ portolan: "dist/cli/main.js" });
  });

  test("drivers as code are an entry of their own", async () => {
    const drivers = (await import("../src/drivers.ts")) as Record<string, unknown>;
    expect(Object.keys(drivers).sort()).toEqual([
      ...["checkBump", "defineDriver", "defineSecret", "defineTool", "diffContracts", "diffDrivers"],
    ]);
  });

  test("the library exports these values", async () => {
    const library = (await import("../src/index.ts")) as Record<string, unknown>;
    expect(Object.keys(library).sort()).toEqual([
      "ERROR_CODES",
      "PortolanError",
      "connectMcp",
      "isPortolanError",
      "openWorkspace",
    ]);
  });

  test("an index.ts names what it exports", () => {
    const indexes = files.filter((file) => file.endsWith("index.ts"));
    expect(indexes.filter((file) => /^export \*/m.test(readFileSync(join(src, file), "utf8")))).toEqual([]);
  });
});

describe("the scan itself", () => {
  test("sees every form of import", () => {
    const text = [
      'import { a } from "./a.ts";',
      'import type { B } from "../b.ts";',
      "import {",
      "  c,",
      '} from "./c.ts";',
      'export { d } from "./d.ts";',
      'export type { E } from "./e.ts";',
      'const f = await import("./f.ts");',
      'type G = typeof import("./g.ts");',
      'import "./h.ts";',
      'import { z } from "zod";',
      'export const text = "from ./nothing.ts";',
    ].join("\n");
    expect(findImports(text)).toEqual([
      { specifier: "./a.ts", typeOnly: false },
      { specifier: "../b.ts", typeOnly: true },
      { specifier: "./c.ts", typeOnly: false },
      { specifier: "./d.ts", typeOnly: false },
      { specifier: "./e.ts", typeOnly: true },
      { specifier: "./h.ts", typeOnly: false },
      { specifier: "./f.ts", typeOnly: false },
      { specifier: "./g.ts", typeOnly: true },
    ]);
    expect(imports.length).toBeGreaterThan(files.length);
  });

  test("finds a cycle", () => {
    const edge = (from: string, to: string): Import => ({ from, to, typeOnly: false });
    expect(findCycle([edge("a", "b"), edge("b", "c"), edge("a", "c")])).toEqual([]);
    expect(findCycle([edge("a", "b"), edge("b", "c"), edge("c", "b")])).toEqual(["b", "c", "b"]);
  });
});

interface LintOverride {
  readonly files: readonly string[];
  readonly rules: Readonly<Record<string, unknown>>;
}

function lintRule(room: string): unknown {
  const below = ORDER.slice(ORDER.indexOf(room) + 1);
  const others = ORDER.filter((other) => other !== room).join(",");
  const order = {
    regex: `^(\\.\\./)+(${below.join("|")})(/|$)`,
    message: "Layer order: a room imports only from the rooms above it in ARCHITECTURE.md.",
  };
  const doors = {
    group: [`../**/{${others}}/**`, `!../**/{${others}}/index.ts`, "!../**/formats/*/index.ts"],
    message: "Another room is imported only through its index.ts.",
  };
  return ["error", { patterns: below.length > 0 ? [order, doors] : [doors] }];
}

/** The relative imports of a source text; `import { type A }` counts as a value import, since it still runs the module. */
function findImports(text: string): { specifier: string; typeOnly: boolean }[] {
  const statements = [
    ...text.matchAll(/^\s*(?:import|export)\s+(type\s+)?(?:[^"';]*?\sfrom\s+)?"(\.[^"]*)"/gm),
  ];
  const calls = [...text.matchAll(/(typeof\s+)?\bimport\(\s*"(\.[^"]*)"\s*\)/g)];
  return [...statements, ...calls].map(([, type, specifier = ""]) => ({
    specifier,
    typeOnly: type !== undefined,
  }));
}

function isInSrc(path: string): boolean {
  return !path.startsWith("..");
}

function roomOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.indexOf("/")) : "";
}

/** A room's public face; each format has one of its own. */
function isDoor(file: string): boolean {
  return file === `${roomOf(file)}/index.ts` || /^formats\/[^/]+\/index\.ts$/.test(file);
}

/** src/index.ts is below every room: it may import them all, and none may import it. */
function rank(path: string): number {
  return path.includes("/") ? ORDER.indexOf(roomOf(path)) : ORDER.length;
}

function describeImport({ from, to }: Import): string {
  return `src/${from} imports src/${to}`;
}

/** The files of one cycle, the first repeated at the end; empty when there is none. */
function findCycle(edges: readonly Import[]): string[] {
  const targets = new Map<string, string[]>();
  for (const { from, to } of edges) targets.set(from, [...(targets.get(from) ?? []), to]);
  const done = new Set<string>();

  const visit = (file: string, trail: readonly string[]): string[] => {
    if (trail.includes(file)) return [...trail.slice(trail.indexOf(file)), file];
    if (done.has(file)) return [];
    for (const target of targets.get(file) ?? []) {
      const cycle = visit(target, [...trail, file]);
      if (cycle.length > 0) return cycle;
    }
    done.add(file);
    return [];
  };

  for (const file of targets.keys()) {
    const cycle = visit(file, []);
    if (cycle.length > 0) return cycle;
  }
  return [];
}
