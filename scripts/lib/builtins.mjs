// A plugin for the bundler: modules of Node itself are taken with `process.getBuiltinModule()` instead of `import`.
// An import makes Node read every export of the module, and for `node:http` that loads an HTTP client nobody uses.

const IMPORT = /^import (?:(\* as )?([\w$]+)|(?:([\w$]+), )?\{([^}]*)\}) from "(node:[^"]+)";$/gm;

export function builtinsWithoutFacade() {
  return {
    name: "builtins-without-facade",
    renderChunk(code) {
      return {
        code: code.replaceAll(IMPORT, (_statement, _star, whole, first, names, module) => {
          const builtin = `globalThis.process.getBuiltinModule("${module}")`;
          if (whole !== undefined) return `const ${whole} = ${builtin};`;
          const parts = names.replaceAll(" as ", ": ");
          return `const ${first === undefined ? "" : `${first} = ${builtin}, `}{${parts}} = ${builtin};`;
        }),
      };
    },
  };
}
