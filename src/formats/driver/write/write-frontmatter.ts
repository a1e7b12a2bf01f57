// Frontmatter and text as a person would write them.

import { Document, isMap, isPair, isScalar, isSeq, visit } from "yaml";
import { withoutUndefined } from "../../manifest/index.ts";

export type Fields = Readonly<Record<string, unknown>>;

const VERSIONS: ReadonlySet<unknown> = new Set(["version", "protocol_version"]);

/** Leaves out undefined fields. Short lists and objects of plain values are written on one line. */
export function writeFrontmatter(fields: Fields, body: string): string {
  const document = new Document(withoutUndefined(fields), { schema: "core", aliasDuplicateObjects: false });
  visit(document, {
    Pair: (_, { key, value }) => {
      // Quoted, so that no YAML reader takes a version for a number or a date.
      if (isScalar(key) && VERSIONS.has(key.value) && isScalar(value)) value.type = "QUOTE_DOUBLE";
    },
    Collection: (_, node) => {
      const parts = node.items.map((item) => (isPair(item) ? item.value : item));
      const short = parts.every((part) => isScalar(part)) && JSON.stringify(node).length <= 72;
      const empty = (isMap(node) || isSeq(node)) && node.items.length === 0;
      if ((short || empty) && !(node === document.contents)) node.flow = true;
    },
  });
  return `---\n${document.toString({ lineWidth: 0 })}---\n\n${body.trim()}\n`;
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
