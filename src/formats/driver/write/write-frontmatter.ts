// Frontmatter and text as a person would write them.

import { Document, isMap, isPair, isScalar, isSeq, visit } from "yaml";

export type Fields = Readonly<Record<string, unknown>>;

const VERSIONS: ReadonlySet<unknown> = new Set(["version", "protocol_version"]);

/** What is undefined is left out; short lists and objects of plain values stand on one line. */
export function writeFrontmatter(fields: Fields, body: string): string {
  const document = new Document(withoutUndefined(fields), { schema: "core", aliasDuplicateObjects: false });
  visit(document, {
    Pair: (_, { key, value }) => {
      // A version is never taken for a number or a date, whoever reads the file.
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

/** Lists and objects with nothing in them stand for the default, and are left out. */
export function filledOnly<T extends object>(value: T | undefined): T | undefined {
  return value === undefined || Object.keys(withoutUndefined(value) as object).length === 0
    ? undefined
    : value;
}

/** A title and a text: one line for the title, whatever it holds. */
export function writeBody(title: string, text: string): string {
  return `# ${title.replace(/\s+/g, " ").trim()}\n\n${text}`;
}

function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(entries.map(([key, field]) => [key, withoutUndefined(field)]));
}
