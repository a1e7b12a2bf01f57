// Writes docs/reference/api/ from the types in dist/: one page for each entry of the package.
// Usage: npm run docs:api. With --check it writes nothing and fails if a page differs from the types; a test runs that.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exportedNames, findDeclarations } from "./lib/declarations.mjs";
import { root } from "./lib/install-once.mjs";

const ABOUT = {
  ".": "Connections, workspaces, errors and the types of MCP messages.",
  "./drivers": "Contracts, drivers and secrets written as code.",
  "./gateway": "A gateway inside of another program.",
};

/** The entries of the package that have types: `{ module, types, page, about }`. */
const ENTRIES = Object.entries(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).exports)
  .filter(([, { types }]) => types !== undefined)
  .map(([key, { types }]) => ({
    module: `portolan${key.slice(1)}`,
    types: types.replace("./dist/", ""),
    page: key === "." ? "portolan.md" : `${key.slice(2)}.md`,
    about: ABOUT[key] ?? "",
  }));

const GROUPS = [
  ["function", "Functions"],
  ["class", "Classes"],
  ["constant", "Constants"],
  ["type", "Types"],
];

const folder = join(root, "docs", "reference", "api");
const pages = generateApi();
if (process.argv.includes("--check")) {
  const stale = [...pages].filter(([name, text]) => readPage(name) !== text).map(([name]) => name);
  if (stale.length > 0) {
    console.error(`docs/reference/api: ${stale.join(", ")} differ from the types. Run npm run docs:api.`);
    process.exitCode = 1;
  }
} else {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of pages) writeFileSync(join(folder, name), text);
}

/** The pages by file name. */
function generateApi() {
  const dist = join(root, "dist");
  const pages = new Map(ENTRIES.map((entry) => [entry.page, writePage(entry, join(dist, entry.types))]));
  return pages.set("README.md", writeIndex(dist));
}

function writeIndex(dist) {
  const rows = ENTRIES.map(({ module, page, about, types }) => {
    const count = exportedNames(join(dist, types)).length;
    return `- [\`${module}\`](${page}): ${about} ${count} names.`;
  });
  return `# API\n\nThese pages are generated from the types of the package by \`npm run docs:api\`. The\n[library page](../library.md) shows how the names are used.\n\n${rows.join("\n")}\n`;
}

function writePage({ module, about }, file) {
  const entries = exportedNames(file).map((name) => ({ name, declarations: findDeclarations(file, name) }));
  const missing = entries.filter(({ declarations }) => declarations.length === 0).map(({ name }) => name);
  if (missing.length > 0) throw new Error(`${file}: no declaration found for ${missing.join(", ")}`);
  const sections = GROUPS.flatMap(([kind, title]) => {
    const found = entries.filter(({ declarations }) => declarations[0].kind === kind);
    const text = found.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(writeEntry);
    return text.length === 0 ? [] : [`## ${title}\n\n${text.join("\n\n")}`];
  });
  return `# ${module}\n\n${about}\n\n${sections.join("\n\n")}\n`;
}

function writeEntry({ name, declarations }) {
  const { text, examples } = splitComment(
    declarations
      .map(({ comment }) => comment)
      .filter(Boolean)
      .join("\n\n"),
  );
  const code = declarations.map((declaration) => declaration.text.trim()).join("\n");
  return [`### ${name}`, text, `\`\`\`typescript\n${code}\n\`\`\``, ...examples].filter(Boolean).join("\n\n");
}

/** Separates the description from the `@example` blocks, which are code fences. */
function splitComment(comment) {
  const [text = "", ...examples] = comment.split(/^@example\s*/m);
  return {
    text: text.replaceAll(/\{@link (\w+)\}/g, "`$1`").trim(),
    examples: examples.map((part) => part.trim()),
  };
}

function readPage(name) {
  const file = join(folder, name);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}
