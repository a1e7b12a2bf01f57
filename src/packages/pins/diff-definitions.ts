// Difference of two tool definitions, field by field: which texts and schema parts were added, removed or changed.

import { isObject, type JsonObject } from "../../model/index.ts";

export interface DefinitionChange {
  /** Where in the definition: `description`, `inputSchema.properties.path.type`. */
  readonly path: string;
  /** Absent if the field is new. */
  readonly before?: unknown;
  /** Absent if the field was removed. */
  readonly after?: unknown;
}

/** A definition with more differences was replaced as a whole; the rest is not listed. */
const MAX_CHANGES = 200;
const MAX_DEPTH = 64;

/** The changes in the order of the fields. Fields that a pin does not cover are left out. */
export function diffDefinitions(before: JsonObject, after: JsonObject): DefinitionChange[] {
  const changes: DefinitionChange[] = [];
  compare("", pinned(before), pinned(after), changes, 0);
  return changes;
}

/** The top fields that changed: `description`, `inputSchema`. */
export function changedFields(before: JsonObject, after: JsonObject): string[] {
  return [...new Set(diffDefinitions(before, after).map(({ path }) => /^[^.[]+/.exec(path)?.[0] ?? path))];
}

/** Of `_meta`, a pin covers the page that the tool shows. */
function pinned({ _meta, ...definition }: JsonObject): JsonObject {
  const shown = Object.entries(isObject(_meta) ? _meta : {}).filter(
    ([key]) => key === "ui" || key.startsWith("ui/"),
  );
  return shown.length === 0 ? definition : { ...definition, _meta: Object.fromEntries(shown) };
}

function compare(
  path: string,
  before: unknown,
  after: unknown,
  changes: DefinitionChange[],
  depth: number,
): void {
  if (changes.length >= MAX_CHANGES) return;
  if (isObject(before) && isObject(after) && depth < MAX_DEPTH) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const inside = path === "" ? key : `${path}.${key}`;
      const old = Object.hasOwn(before, key) ? before[key] : undefined;
      const now = Object.hasOwn(after, key) ? after[key] : undefined;
      compare(inside, old, now, changes, depth + 1);
    }
    return;
  }
  if (Array.isArray(before) && Array.isArray(after) && depth < MAX_DEPTH) {
    if (before.length === after.length) {
      for (const [index, item] of before.entries())
        compare(`${path}[${index}]`, item, after[index], changes, depth + 1);
      return;
    }
  }
  if (JSON.stringify(before) === JSON.stringify(after)) return;
  changes.push({ path, before, after });
}
