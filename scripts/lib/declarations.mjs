// Public declarations of the package: follows the re-exports of an entry's .d.ts file to each declared name.
// typedoc needs the JavaScript compiler API, which TypeScript 7 does not have; the bundler's parser reads .d.ts files.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseAst } from "rolldown/parseAst";

const parsed = new Map();

/** Reads a .d.ts file once: its text and its statements. */
function readModule(file) {
  const known = parsed.get(file);
  if (known !== undefined) return known;
  const text = readFileSync(file, "utf8");
  const module = { file, text, statements: parseAst(text, { lang: "dts" }).body };
  parsed.set(file, module);
  return module;
}

const targetOf = (module, source) => join(dirname(module.file), source.value.replace(/\.[jt]s$/, ".d.ts"));

/** The names that a module exports, in the order of the file. */
export function exportedNames(file) {
  return readModule(file).statements.flatMap(({ type, specifiers = [], declaration }) =>
    type === "ExportNamedDeclaration"
      ? [...specifiers.map(({ exported }) => exported.name), ...declaredNames(declaration)]
      : [],
  );
}

/** The declarations of an exported name: `{ kind, text, comment }`; a function with overloads has several. */
export function findDeclarations(file, name) {
  const module = readModule(file);
  const found = [];
  for (const statement of module.statements) {
    const declaration = statement.declaration ?? statement;
    if (declaredNames(declaration).includes(name)) found.push(describe(module, statement, declaration));
    const specifier = (statement.specifiers ?? []).find(({ exported, local }) =>
      statement.type === "ImportDeclaration" ? local.name === name : exported?.name === name,
    );
    if (specifier === undefined) continue;
    const original = statement.type === "ImportDeclaration" ? specifier.imported.name : specifier.local.name;
    if (statement.source) return findDeclarations(targetOf(module, statement.source), original);
    if (original !== name) return findDeclarations(file, original);
  }
  return found;
}

function declaredNames(declaration) {
  if (declaration == null) return [];
  if (declaration.type === "VariableDeclaration") return declaration.declarations.map(({ id }) => id.name);
  return declaration.id?.name === undefined ? [] : [declaration.id.name];
}

const KINDS = {
  TSInterfaceDeclaration: "type",
  TSTypeAliasDeclaration: "type",
  TSDeclareFunction: "function",
  FunctionDeclaration: "function",
  ClassDeclaration: "class",
  VariableDeclaration: "constant",
};

function describe({ text }, statement, declaration) {
  const before = text.slice(0, statement.start);
  const comment = /\/\*\*((?:(?!\*\/)[^])*)\*\/\s*$/.exec(before)?.[1] ?? "";
  return {
    kind: KINDS[declaration.type] ?? "type",
    text: text.slice(declaration.start, statement.end).replace(/^declare /, ""),
    comment: comment
      .split("\n")
      .map((line) => line.replace(/^\s*\* ?/, "").trimEnd())
      .join("\n")
      .trim(),
  };
}

/** The .d.ts files that an entry needs, itself included: all modules that its types mention. */
export function reachableFiles(entries) {
  const reached = new Set();
  const waiting = [...entries];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    const { text } = readModule(file);
    for (const [, path] of text.matchAll(/(?:from |import\()"(\.[^"]+)"/g))
      waiting.push(join(dirname(file), path.replace(/\.[jt]s$/, ".d.ts")));
  }
  return reached;
}
