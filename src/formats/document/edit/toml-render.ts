// Values as TOML text.

import { isObject } from "../../../model/index.ts";
import type { Path } from "../node.ts";

export function toTomlKey(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : toTomlString(key);
}

/** Without indexes, which headers of tables do not have. */
export function toTomlPath(path: Path): string {
  return path.flatMap((step) => (typeof step === "string" ? [toTomlKey(step)] : [])).join(".");
}

/** A value on one line. */
export function toTomlValue(value: unknown): string {
  if (typeof value === "string") return toTomlString(value);
  if (Array.isArray(value)) return `[${value.map(toTomlValue).join(", ")}]`;
  if (!isObject(value)) return String(value);
  const members = Object.entries(value).map(([key, item]) => `${toTomlKey(key)} = ${toTomlValue(item)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}

/**
 * A table with its header, and its objects as tables below it. The root has no header, and a table that contains only
 * tables needs none. A path that ends with an index is an item of a list of tables.
 */
export function toTomlTable(path: Path, value: Readonly<Record<string, unknown>>, eol: string): string {
  const members = Object.entries(value);
  const lines = members
    .filter(([, item]) => !isObject(item))
    .map(([key, item]) => `${toTomlKey(key)} = ${toTomlValue(item)}`);
  const tables = members.flatMap(([key, item]) =>
    isObject(item) ? [toTomlTable([...path, key], item, eol)] : [],
  );
  const isItem = typeof path.at(-1) === "number";
  const header = isItem ? `[[${toTomlPath(path)}]]` : `[${toTomlPath(path)}]`;
  if (path.length > 0 && (isItem || lines.length > 0 || tables.length === 0)) lines.unshift(header);
  const own = lines.map((line) => line + eol).join("");
  return (own === "" ? tables : [own, ...tables]).join(eol);
}

/** Escapes of JSON are valid in TOML, except for one control character and lone surrogates. */
function toTomlString(text: string): string {
  return JSON.stringify(text.replace(/[\uD800-\uDFFF]/gu, "\uFFFD")).replaceAll("\u007f", "\\u007F");
}
