// A definition in code as the file that says the same: camelCase becomes snake_case, and what an author names himself stays as it is.

import { isObject, type JsonObject } from "../../model/index.ts";
import { asWritten } from "./as-written.ts";

/** Under these, names are the author's own, or another format's. */
const FREE: ReadonlySet<string> = new Set([
  "mapping",
  "argumentMapping",
  "argument_mapping",
  "env",
  "headers",
  "inputs",
  "outputs",
  "input",
  "output",
  // SECRETS.md has camelCase there.
  "access",
  "exposures",
]);
/** In these, only what belongs to this format is renamed. */
const METADATA = "metadata";
const PATH_ARGUMENTS = "pathArguments";

/** JSON is YAML, and needs no writer. */
export function toFrontmatter(definition: JsonObject): string {
  return `---\n${JSON.stringify(rename(definition), undefined, 1)}\n---\n`;
}

function rename(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rename);
  // JSON would leave it out in silence; so the field stays, and is refused where it does not belong.
  if (typeof value === "function") return "[code]";
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .map(([key, inner]) => [asWritten(key), under(key, inner)]),
  );
}

function under(key: string, value: unknown): unknown {
  if (FREE.has(key) || key === PATH_ARGUMENTS) return value;
  if (key !== METADATA || !isObject(value)) return rename(value);
  return { ...value, ...(isObject(value.mcp) ? { mcp: rename(value.mcp) } : {}) };
}
