// The lines of one server, as a person would write them: short lists on one line, no folded text.

import { Document, isMap, isScalar, isSeq, type Node, visit } from "yaml";

/** Lines without indentation. */
export function renderServer(fields: Readonly<Record<string, unknown>>): string[] {
  const document = new Document(fields, { schema: "core" });
  visit(document, {
    Seq: (_, list) => {
      if (list.items.every((item) => isScalar(item))) list.flow = true;
    },
    // White space at an end, or a line break, shows only in quotes, and each field keeps to its line.
    Scalar: (_, scalar) => {
      if (typeof scalar.value === "string" && /^\s|\s$|[\n\r]/.test(scalar.value))
        scalar.type = "QUOTE_DOUBLE";
    },
  });
  if (isEmpty(document.contents)) return [];
  return document.toString({ lineWidth: 0, flowCollectionPadding: false }).replace(/\n$/, "").split("\n");
}

function isEmpty(node: Node | null): boolean {
  return node === null || ((isMap(node) || isSeq(node)) && node.items.length === 0);
}
