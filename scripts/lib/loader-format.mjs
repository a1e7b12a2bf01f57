// A plugin for the bundler: writes each file of the command as a script for the loader (`src/cli/main.cjs`), which runs it with
// the compiled code of an earlier run. The script is a function `(exports, $load, $import, $require, $filename) => void`.
//
// The bundler's own CommonJS format cannot be split into files. Its ES modules have one import or export per line, which is all
// that this plugin has to rewrite. Lines stay where they are, so that source maps fit.

const IMPORT = /^import (?:\{([^}]*)\}|\* as ([\w$]+)|([\w$]+)) from "([^"]+)";$/gm;
const BARE_IMPORT = /^import "([^"]+)";$/gm;
const EXPORT_FROM = /^export \{([^}]*)\} from "([^"]+)";$/gm;
const EXPORT = /^export \{([^}]*)\};$/gm;
const EXPORT_DEFAULT = /^export default (.+;)$/gm;
const DYNAMIC_IMPORT = /\bimport\(/g;
const LEFT_OVER = /^(?:import|export)\b.*$/m;
const CREATE_REQUIRE = /\bcreateRequire(?:\$\d+)?\(import\.meta\.url\)/g;
const MODULE_URL = /\bimport\.meta\.url\b/g;

export function loaderFormat() {
  return {
    name: "loader-format",
    // The last step: the bundler would remove the function from a file that it parses again.
    generateBundle(_options, files) {
      for (const [fileName, file] of Object.entries(files))
        if (file.type === "chunk") file.code = toScript(file.code, fileName);
    },
  };
}

export function toScript(code, fileName) {
  const exported = [];
  const body = code
    .replaceAll(IMPORT, (_statement, names, whole, first, from) => {
      if (!from.startsWith("./"))
        throw new Error(`${fileName} imports ${from}, which is not bundled; use import() instead.`);
      if (first !== undefined) throw new Error(`${fileName} imports the default export of ${from}.`);
      return `const ${whole ?? `{ ${properties(names)} }`} = $load("${from.slice(2)}");`;
    })
    .replaceAll(BARE_IMPORT, (_statement, from) => `$load("${from.slice(2)}");`)
    .replaceAll(EXPORT_FROM, (_statement, names, from) => {
      exported.push(`const { ${properties(names)} } = $load("${from.slice(2)}"); ${assign(aliases(names))}`);
      return "";
    })
    .replaceAll(EXPORT, (_statement, names) => {
      checkConstant(names, code, fileName);
      exported.push(assign(properties(names, true)));
      return "";
    })
    .replaceAll(EXPORT_DEFAULT, "exports.default = $1")
    .replaceAll(DYNAMIC_IMPORT, "$import(")
    .replaceAll(CREATE_REQUIRE, "$require")
    .replaceAll(MODULE_URL, 'globalThis.process.getBuiltinModule("node:url").pathToFileURL($filename).href');
  const leftOver = LEFT_OVER.exec(body);
  if (leftOver !== null) throw new Error(`${fileName} has a statement of an unknown form: ${leftOver[0]}`);
  return `"use strict";(function (exports, $load, $import, $require, $filename) {${toAscii(body)}\n${exported.join("\n")}\n})`;
}

/** `a as b` as the property `a: b` of a pattern; reversed, as the property `b: a` of an object. */
function properties(names, reversed = false) {
  return parse(names)
    .map(({ name, as }) => (reversed ? `${as}: ${name}` : `${name}: ${as}`))
    .join(", ");
}

function aliases(names) {
  return parse(names)
    .map(({ as }) => as)
    .join(", ");
}

function assign(values) {
  return `Object.assign(exports, { ${values} });`;
}

function parse(names) {
  return names
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")
    .map((text) => {
      const [name, as = name] = text.split(/\s+as\s+/);
      return { name, as };
    });
}

/** An ES module exports variables, a script their values: an exported variable must not be assigned by a function. */
function checkConstant(names, code, fileName) {
  for (const { name } of parse(names)) {
    const word = name.replaceAll("$", "\\$");
    const isAssigned = new RegExp(`^\\s.*(?<![.\\w$])${word}(?: [-+?|&]*= |\\+\\+|--)`, "m");
    if (new RegExp(`^let ${word}\\b`, "m").test(code) && isAssigned.test(code))
      throw new Error(
        `${fileName} exports the variable ${name}, which may change. Export a function instead.`,
      );
  }
}

/** Escapes mean the same as their characters in strings, templates and regular expressions. */
function toAscii(code) {
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
