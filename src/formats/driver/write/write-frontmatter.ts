// Frontmatter and text as a person would write them.

import { renderYaml } from "../../document/index.ts";
import { withoutUndefined } from "../../manifest/index.ts";

export type Fields = Readonly<Record<string, unknown>>;

const VERSIONS = ["version", "protocol_version"];

/** Leaves out undefined fields. Short lists and objects of plain values are written on one line. */
export function writeFrontmatter(fields: Fields, body: string): string {
  const text = renderYaml(withoutUndefined(fields), { inline: "short", quoted: VERSIONS });
  return `---\n${text}---\n\n${body.trim()}\n`;
}

/** Returns undefined for empty lists and objects, because absent fields have the same meaning. */
export function filledOnly<T extends object>(value: T | undefined): T | undefined {
  return value === undefined || Object.keys(withoutUndefined(value) as object).length === 0
    ? undefined
    : value;
}

/** A title on one line, and a text. */
export function writeBody(title: string, text: string): string {
  return `# ${title.replace(/\s+/g, " ").trim()}\n\n${text}`;
}
