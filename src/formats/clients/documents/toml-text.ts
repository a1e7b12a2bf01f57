// Values as TOML text.

import { isObject } from "../../../model/index.ts";

export function toTomlKey(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : toTomlString(key);
}

export function toTomlPath(path: readonly (string | number)[]): string {
  return path.map((step) => toTomlKey(String(step))).join(".");
}

/** A value on one line. */
export function toTomlValue(value: unknown): string {
  if (typeof value === "string") return toTomlString(value);
  if (Array.isArray(value)) return `[${value.map(toTomlValue).join(", ")}]`;
  if (!isObject(value)) return String(value);
  const members = Object.entries(value).map(([key, item]) => `${toTomlKey(key)} = ${toTomlValue(item)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}

/** A whole table with a header, and its objects as tables below it, the way Codex writes them. */
export function toTomlTable(
  path: readonly (string | number)[],
  value: Readonly<Record<string, unknown>>,
  eol: string,
): string {
  const members = Object.entries(value);
  const lines = members
    .filter(([, item]) => !isObject(item))
    .map(([key, item]) => `${toTomlKey(key)} = ${toTomlValue(item)}`);
  const tables = members.flatMap(([key, item]) =>
    isObject(item) ? [toTomlTable([...path, key], item, eol)] : [],
  );
  return [[`[${toTomlPath(path)}]`, ...lines].map((line) => line + eol).join(""), ...tables].join(eol);
}

/** JSON's escapes are TOML's, but for one control character and for halves of characters, which TOML has no way to say. */
function toTomlString(text: string): string {
  return JSON.stringify(text.replace(/[\uD800-\uDFFF]/gu, "\uFFFD")).replaceAll("\u007f", "\\u007F");
}
