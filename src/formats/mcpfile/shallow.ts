// A node without the inside of fields that are checked apart, since a shape cannot say what may stand there.

import type { ObjectNode, TextNode } from "../document/index.ts";

const APART: Readonly<Record<string, "list" | "object">> = {
  servers: "list",
  tools: "list",
  prompts: "list",
  resources: "list",
  resourceTemplates: "list",
  invocationBases: "object",
  invocation: "object",
  inputSchema: "object",
  outputSchema: "object",
};

export function shallow(node: ObjectNode, runtime = true): ObjectNode {
  return {
    ...node,
    entries: node.entries.flatMap((entry) => {
      if (runtime && entry.key === "runtime" && entry.value.kind === "object") return [];
      return [entry.value.kind === APART[entry.key] ? { ...entry, value: emptied(entry.value) } : entry];
    }),
  };
}

function emptied(node: TextNode): TextNode {
  if (node.kind === "list") return { ...node, items: [] };
  return node.kind === "object" ? { ...node, entries: [] } : node;
}
