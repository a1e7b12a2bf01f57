// Architecture test: scans src/ for the order of the rooms, the size of folders, import cycles and the public surface.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };

/** A room is a top-level folder of src/. It imports only from the rooms before it in this list. */
const ORDER = [
  "base",
  "errors",
  "model",
  "schema",
  "formats",
  "catalog",
  "secrets",
  "process",
  "sandbox",
  "install",
  "packages",
  "registry",
  "launch",
  "oauth",
  "telemetry",
  "audit",
  "upstream",
  "invoke",
  "client",
  "contracts",
  "hub",
  "gateway",
  "control",
  "console",
  "openapi",
  "script",
  "cli",
];

/** Files outside of process/ that start programs, with the reason. */
const OWN_SPAWNS = {
  "base/files/process-identity.ts": "asks ps for a start time on macOS; base/ cannot import process/",
};

/** Files that send HTTP requests, with the reason. */
const HTTP_CLIENTS = {
  "base/net/bounded-fetch.ts": "all requests of Portolan itself",
  "invoke/http/agents.ts": "requests of mcpfile tools: certificates of their own, one pool for each server",
  "upstream/transports/http/agent.ts": "transports: event streams, sessions, connections that stay open",
};

/** A folder has fewer source files than this; tests are not counted. */
const FOLDER_LIMIT = 20;

const root = fileURLToPath(new URL("../..", import.meta.url));
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
  test("every folder of src/ is in the list of rooms, and only entry files are outside of the rooms", () => {
    expect(rooms.sort()).toEqual([...ORDER].sort());
    expect(files.filter((file) => !file.includes("/"))).toEqual(["drivers.ts", "gateway.ts", "index.ts"]);
  });

  test("a room imports only from the rooms before it in the list", () => {
    const wrong = imports.filter(({ from, to }) => isInSrc(to) && rank(to) > rank(from));
    expect(wrong.map(describeImport)).toEqual([]);
  });

  test("another room is imported only through its index.ts", () => {
    const wrong = imports.filter(
      ({ from, to }) => isInSrc(to) && roomOf(to) !== roomOf(from) && !isPublic(to),
    );
    expect(wrong.map(describeImport)).toEqual([]);
  });

  test("published files import nothing outside of src/", () => {
    const wrong = imports.filter(
      ({ from, to }) => !from.endsWith(".test.ts") && !isInSrc(to) && to !== "../package.json",
    );
    expect(wrong.map(describeImport)).toEqual([]);
  });

  test("only the process room starts programs", () => {
    const users = files.filter(
      (file) =>
        !file.endsWith(".test.ts") &&
        !file.startsWith("process/") &&
        /(?:from|import\()\s*"(?:node:child_process|cross-spawn)"/.test(
          readFileSync(join(src, file), "utf8"),
        ),
    );
    expect(users).toEqual(Object.keys(OWN_SPAWNS));
  });

  test("only the listed files send HTTP requests", () => {
    const users = files.filter(
      (file) =>
        !file.endsWith(".test.ts") &&
        /await import\("undici"\)|"node:https"\)(?!\.createServer)|^import (?!type).* from "node:https"|\bawait fetch\(/m.test(
          readFileSync(join(src, file), "utf8"),
        ),
    );
    expect(users).toEqual(Object.keys(HTTP_CLIENTS));
  });

  test("imports that exist at run time form no cycle", () => {
    expect(findCycle(imports.filter((found) => !found.typeOnly))).toEqual([]);
  });
});

describe("folders", () => {
  test(`a folder has fewer than ${FOLDER_LIMIT} source files`, () => {
    const counts = new Map<string, number>();
    for (const file of files.filter((path) => !path.endsWith(".test.ts"))) {
      counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
    }
    const large = [...counts].filter(([, count]) => count >= FOLDER_LIMIT).map(([folder]) => folder);
    expect(large).toEqual([]);
  });

  test("the files and folders that a room's README.md names exist", () => {
    const missing = rooms.flatMap((room) => {
      const readme = join(src, room, "README.md");
      if (!existsSync(readme)) return [];
      return pathsIn(readFileSync(readme, "utf8"))
        .filter((path) => !isPathOf(room, path))
        .map((path) => `src/${room}/README.md names ${path}`);
    });
    expect(missing).toEqual([]);
  });

  test("the list of files in the README.md of a room is complete for each folder in it", () => {
    const missing = rooms.flatMap((room) => {
      const readme = join(src, room, "README.md");
      const listed = existsSync(readme) ? listedFiles(readFileSync(readme, "utf8")) : [];
      const named = new Set(listed.map((path) => `${room}/${path}`));
      const folders = new Set([...named].filter((path) => files.includes(path)).map(dirname));
      return files
        .filter((file) => folders.has(dirname(file)) && !/(?:^|\/)index\.ts$|\.test\.ts$/.test(file))
        .filter((file) => !named.has(file))
        .map((file) => `src/${room}/README.md does not list src/${file}`);
    });
    expect(missing).toEqual([]);
  });
});

describe("the public surface", () => {
  test("the package offers three entries and one command", () => {
    expect(Object.keys(manifest.exports)).toEqual([".", "./gateway", "./drivers", "./package.json"]);
    expect(manifest.exports["."]).toEqual({ types: "./dist/index.d.ts", default: "./dist/index.js" });
    expect(manifest.bin).toEqual({ portolan: "dist/cli/main.js" });
  });

  test("the entry portolan/drivers exports exactly these names", async () => {
    const drivers = (await import("../../src/drivers.ts")) as Record<string, unknown>;
    expect(Object.keys(drivers).sort()).toEqual([
      ...["checkBump", "defineDriver", "defineDriverHooks", "defineSecret", "defineTool"],
      ...["diffContracts", "diffDrivers"],
    ]);
  });

  test("the entry portolan/gateway exports exactly these names", async () => {
    const gateway = (await import("../../src/gateway.ts")) as Record<string, unknown>;
    expect(Object.keys(gateway).sort()).toEqual(["createAccess", "openAccess", "openGateway"]);
  });

  test("the main entry exports exactly these values", async () => {
    const library = (await import("../../src/index.ts")) as Record<string, unknown>;
    expect(Object.keys(library).sort()).toEqual([
      "ERROR_CODES",
      "PortolanError",
      "connectMcp",
      "createBridge",
      "isPortolanError",
      "openWorkspace",
      "sandboxDenials",
    ]);
  });

  test("an index.ts contains no export *", () => {
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

  test("sees the paths in a README.md", () => {
    const text = [
      "The entry is `open.ts`; see `src/model/json.ts`.",
      "```",
      "  parts/    folder",
      "    a-b.mjs  file",
      "```",
    ];
    expect(pathsIn(text.join("\n"))).toEqual(["open.ts", "src/model/json.ts", "a-b.mjs", "parts"]);
  });

  test("sees the list of files in a README.md", () => {
    const text = [
      "`else.ts`",
      "## Files",
      "```",
      "top.ts          file; beside.ts: another",
      "├─ parts/       folder, with whole.ts",
      "│   a.ts, b.ts",
      "└─ rest/",
      "    c.ts        like parts/a.ts",
      "last.ts",
      "```",
      "| `row/d.ts` | file |",
      "## Next",
      "`other.ts`",
    ];
    expect(listedFiles(text.join("\n"))).toEqual([
      ...["top.ts", "beside.ts", "parts/a.ts", "parts/b.ts", "rest/c.ts", "rest/parts/a.ts", "last.ts"],
      "row/d.ts",
    ]);
  });

  test("finds a cycle", () => {
    const edge = (from: string, to: string): Import => ({ from, to, typeOnly: false });
    expect(findCycle([edge("a", "b"), edge("b", "c"), edge("a", "c")])).toEqual([]);
    expect(findCycle([edge("a", "b"), edge("b", "c"), edge("c", "b")])).toEqual(["b", "c", "b"]);
  });
});

/** Source files (`x.ts`, `part/x.mjs`) in a Markdown text, and the folders (`part/`) that begin a line of a tree. */
function pathsIn(markdown: string): string[] {
  const found = [...markdown.matchAll(/[\w./-]+\.(?:ts|mjs)\b/g)].map(([path]) => path);
  const folders = [...markdown.matchAll(/^[\s│├└─]+([\w./-]+)\/(?=\s|$)/gm)].map(([, path = ""]) => path);
  return [...found, ...folders];
}

/**
 * The files in the section "Files" of a README, by their path in the room: a tree with indented folders, or a table. The line of a
 * folder may mention some of its files; that does not make it a list.
 */
function listedFiles(markdown: string): string[] {
  const [, section = ""] = /^## Files\n([^]*?)(?=^## |(?![^]))/m.exec(markdown) ?? [];
  const open: { readonly indent: number; readonly name: string }[] = [];
  return section.split("\n").flatMap((line) => {
    const text = line.replaceAll(/[│├└─]/g, " ");
    const indent = text.search(/\S/);
    while (open.length > 0 && indent <= (open.at(-1)?.indent ?? 0)) open.pop();
    const folder = /^\s*([\w./-]+)\/(?=\s|$)/.exec(text)?.[1];
    if (folder !== undefined) {
      open.push({ indent, name: folder });
      return [];
    }
    const found = [...text.matchAll(/[\w./-]+\.ts\b/g)].map(([path]) => path);
    return found.map((path) => [...open.map(({ name }) => name), path].join("/"));
  });
}

/** A README may name a path from the repository, from src/, or from any folder of its room. */
function isPathOf(room: string, path: string): boolean {
  if (existsSync(join(root, path)) || existsSync(join(src, path))) return true;
  const all = readdirSync(join(src, room), { recursive: true, encoding: "utf8" });
  return all.some((entry) => `/${entry.split(sep).join("/")}`.endsWith(`/${path}`));
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

/** Other rooms may import this file. Each format has its own index.ts; base/ has none, because each of its files is for everyone. */
function isPublic(file: string): boolean {
  return (
    file.startsWith("base/") ||
    file === `${roomOf(file)}/index.ts` ||
    /^formats\/[^/]+\/index\.ts$/.test(file)
  );
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
