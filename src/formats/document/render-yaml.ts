// Values as YAML text, the way a person would write them.

import { Document, isPair, isScalar, type Scalar, visit, type YAMLMap, type YAMLSeq } from "yaml";

export interface YamlStyle {
  /**
   * Collections on one line: `lists` means lists of plain values; `short` means lists and objects of plain values that
   * fit on a line, with blanks inside the brackets. Default: none.
   */
  readonly inline?: "lists" | "short" | "all";
  /** Keys whose values are always quoted, so that no reader takes a version for a number or a date. */
  readonly quoted?: readonly string[];
}

const MAX_INLINE = 72;

/** Lines are never folded. Words that are booleans or numbers in YAML 1.1 are quoted. */
export function renderYaml(value: unknown, { inline, quoted = [] }: YamlStyle = {}): string {
  const document = new Document(value, { schema: "core", compat: "yaml-1.1", aliasDuplicateObjects: false });
  const root = document.contents;
  visit(document, {
    Pair: (_, pair) => {
      if (isScalar(pair.key) && isScalar(pair.value) && quoted.includes(String(pair.key.value)))
        pair.value.type = "QUOTE_DOUBLE";
    },
    Scalar: (_, scalar) => {
      if (inline === "lists" || inline === "all") keepOnOneLine(scalar);
    },
    Collection: (_, node) => {
      if (inline === "all" || (node !== root && isInline(node, inline))) node.flow = true;
    },
  });
  return document.toString({
    lineWidth: 0,
    doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
    flowCollectionPadding: inline === "short",
  });
}

function isInline(node: YAMLMap | YAMLSeq, inline: YamlStyle["inline"]): boolean {
  if (node.items.length === 0) return true;
  const items: readonly unknown[] = node.items;
  const isPlain = items.every((item) => isScalar(isPair(item) ? item.value : item));
  if (inline === "lists") return isPlain && !items.some(isPair);
  return inline === "short" && isPlain && JSON.stringify(node).length <= MAX_INLINE;
}

/** White space at an end, and line breaks, need quotes, so that each value stays on one line. */
function keepOnOneLine(scalar: Scalar): void {
  if (typeof scalar.value === "string" && /^\s|\s$|[\n\r]/.test(scalar.value)) scalar.type = "QUOTE_DOUBLE";
}
