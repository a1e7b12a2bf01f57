// A plugin for the bundler: modules of Node itself are taken with `process.getBuiltinModule()` instead of `import`.
// An import makes Node read every export of the module, and for `node:http` that loads an HTTP client nobody uses.

import { isBuiltin } from "node:module";

const IMPORT = /^import (?:(\* as )?([\w$]+)|(?:([\w$]+), )?\{([^}]*)\}) from "([\w:/]+)";$/gm;

export function builtinsWithoutFacade() {
  return {
    name: "builtins-without-facade",
    renderChunk(code) {
      return {
        code: code.replaceAll(IMPORT, (statement, _star, whole, first, names, module) => {
          if (!isBuiltin(module)) return statement;
          const builtin = `globalThis.process.getBuiltinModule("${module}")`;
          if (whole !== undefined) return `const ${whole} = ${builtin};`;
          const parts = names.replaceAll(" as ", ": ");
          return `const ${first === undefined ? "" : `${first} = ${builtin}, `}{${parts}} = ${builtin};`;
        }),
      };
    },
  };
}
