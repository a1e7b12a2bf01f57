// Fields that say something which cannot come true where they stand.

import { entryOf, type ObjectNode, type Problems } from "../text/index.ts";

/** `why` goes on after "has no effect". */
export function ignored(names: readonly string[], why: string, node: ObjectNode, problems: Problems): void {
  for (const name of names) {
    const entry = entryOf(node, name);
    if (entry !== undefined && entry.value.kind !== "null")
      problems.warn(entry, `${name} has no effect ${why}`, `Remove ${name}.`);
  }
}
