// A plugin for the bundler: an import from the door of a room (`index.ts`) becomes imports of the files that the names stand in.
// Otherwise the bundler counts everything behind the door as needed, and a start loads parsers that it never calls.

import { readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";

const IMPORT = /^import \{([^}]*)\} from "(\.[^"]*\/index\.ts)";/gm;
const EXPORT = /^export \{([^}]*)\} from "(\.[^"]+)";/gm;

export function directImports() {
  /** For each door: the file and the name there of every exported value. */
  const doors = new Map();

  const doorOf = (file) => {
    let door = doors.get(file);
    if (door === undefined) {
      door = new Map();
      for (const [, names, from] of readFileSync(file, "utf8").matchAll(EXPORT))
        for (const { name, as } of valuesOf(names))
          door.set(as, { name, file: resolve(dirname(file), from) });
      doors.set(file, door);
    }
    return door;
  };

  /** The file that declares the name; a door may lead to another one. */
  const find = (file, name) => {
    if (!file.endsWith("/index.ts")) return { file, name };
    const found = doorOf(file).get(name);
    return found === undefined ? { file, name } : find(found.file, found.name);
  };

  return {
    name: "direct-imports",
    transform: {
      filter: { id: /\/src\/.*\.ts$/ },
      handler(code, id) {
        const changed = code.replaceAll(IMPORT, (statement, names, from) => {
          const door = resolve(dirname(id), from);
          const imports = valuesOf(names).map(({ name, as }) => {
            const found = find(door, name);
            const path = relative(dirname(id), found.file);
            return `import { ${found.name} as ${as} } from "${path.startsWith(".") ? path : `./${path}`}";`;
          });
          // The number of lines stays, so that source maps fit.
          return imports.join(" ") + "\n".repeat(statement.split("\n").length - 1);
        });
        return changed === code ? null : { code: changed };
      },
    },
  };
}

function valuesOf(names) {
  return names
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && !name.startsWith("type "))
    .map((name) => {
      const [from, as = from] = name.split(/\s+as\s+/);
      return { name: from, as };
    });
}
