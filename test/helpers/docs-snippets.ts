// The code blocks of the README and of docs/: finds them, and compiles the TypeScript ones against the package's types.
// Rule: a page is one program. Each `ts` block sees the names of the blocks before it and may declare them again.

import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

interface Block {
  readonly language: string;
  readonly text: string;
  /** The line of the page that the block begins in. */
  readonly line: number;
}

/** The README and all pages of docs/. */
export const PAGES: readonly string[] = [
  "README.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name.replaceAll("\\", "/")}`)
    .sort(),
];

/** Its programs need the frameworks; test/project/frameworks.test.ts compiles and runs them. */
export const FRAMEWORKS_PAGE = "docs/guides/frameworks.md";

/** Its `tsconfig.json` compiles the programs of all pages. */
const TYPESCRIPT_PAGE = "docs/start/agent.md";

const isJson = ({ language }: Block): boolean => language === "json";

export function blocksOf(page: string): Block[] {
  const text = readFileSync(join(root, page), "utf8");
  return Array.from(
    text.matchAll(/^```(\w+)\n([^]*?)^```/gm),
    ({ 1: language = "", 2: block = "", index }) => ({
      language,
      text: block,
      line: text.slice(0, index).split("\n").length + 1,
    }),
  );
}

/** The program of a page, on the lines of the page, so that a compiler error names the line of the document. */
function programOf(page: string): string | undefined {
  const blocks = blocksOf(page).filter(({ language }) => language === "ts");
  if (blocks.length === 0) return undefined;
  const imports = new Map<string, Set<string>>();
  const lines: string[] = [];
  for (const { text, line } of blocks) {
    while (lines.length < line - 1) lines.push("");
    // Blocks nest: the line of the opening fence opens a scope, and all scopes close at the end.
    lines[line - 2] = "{";
    for (const written of text.trimEnd().split("\n")) {
      const [, names, module = ""] = /^import \{ (.*) \} from ("[^"]+");$/.exec(written) ?? [];
      const known = imports.get(module) ?? new Set();
      if (names !== undefined) imports.set(module, new Set([...known, ...names.split(", ")]));
      lines.push(names === undefined ? written.replace(/^export default /, "void ") : "");
    }
  }
  const imported = Array.from(
    imports,
    ([module, names]) => `import { ${[...names].join(", ")} } from ${module};`,
  );
  // The imports take the place of the page's title.
  return [imported.join(" "), ...lines.slice(1), "}".repeat(blocks.length)].join("\n");
}

const fileOf = (page: string): string => page.replaceAll("/", "-").replace(/\.md$/, ".ts");

/** Compiles the programs of all pages in `folder`, in one run; the JavaScript of a page is beside it. */
export async function compileSnippets(folder: string): Promise<{
  /** The errors of the compiler, with the page and the line. */
  readonly problems: string;
  /** The compiled program of each page that has one. */
  readonly programs: Readonly<Record<string, string>>;
}> {
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  symlinkSync(root, join(folder, "node_modules", "portolan"), "dir");
  for (const name of ["@types", "zod"])
    symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name), "dir");
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const pages = PAGES.filter((page) => page !== FRAMEWORKS_PAGE && programOf(page) !== undefined);
  for (const page of pages) writeFileSync(join(folder, fileOf(page)), programOf(page) ?? "");
  // The reader's own project: the documented config, and nothing else.
  writeFileSync(join(folder, "tsconfig.json"), blocksOf(TYPESCRIPT_PAGE).find(isJson)?.text ?? "");
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const printed = await new Promise<string>((resolve) => {
    execFile(process.execPath, [tsc, "-p", "."], { cwd: folder }, (error, out, err) =>
      resolve(error === null ? "" : `${out}${err}` || error.message),
    );
  });
  return {
    problems: pages.reduce((text, page) => text.replaceAll(`${fileOf(page)}(`, `${page}(`), printed),
    programs: Object.fromEntries(
      pages.map((page) => [page, join(folder, fileOf(page).replace(/ts$/, "js"))]),
    ),
  };
}
