// Bindings of a driver, from the entries of `implements`.

import { posix } from "node:path";
import type { Binding, BindingField, TextPlace } from "../../../model/index.ts";
import { entryOf, nodeAt, type Place, type TextNode, toLabel } from "../../document/index.ts";
import { definedOnly } from "../../manifest/index.ts";
import { nodeOf, type ReadContext } from "../../schema-builder/index.ts";
import type { BindingValue } from "../schema/mcp-schema.ts";
import { placeOf } from "../schema/shared-fields.ts";

/** Reports a contract that the driver serves twice. */
export function checkContractsOnce(list: TextNode | undefined, { diagnostics }: ReadContext): void {
  const seen = new Map<string, Place>();
  for (const item of list?.kind === "list" ? list.items : []) {
    const tool = nodeAt(item, "tool");
    if (tool?.kind !== "string" || tool.value === "") continue;
    const key = posix.normalize(String(tool.value));
    const first = seen.get(key);
    if (first === undefined) seen.set(key, tool);
    else
      diagnostics.add(
        tool,
        `${toLabel(tool.path)} is the same contract as ${toLabel(first.path)} at line ${first.line}`,
        "A driver serves a contract once: keep one of the two.",
      );
  }
}

/** Returns undefined for an entry with errors. */
export function toBinding(value: BindingValue, file: string): Binding | undefined {
  const { tool, range, metadata, schemaNarrowing, mapping = {}, cost, timeoutMs, retry } = value;
  const node = nodeOf(value);
  if (tool === undefined || range === undefined || metadata?.mcp === undefined || node === undefined)
    return undefined;
  const { toolName, argumentMapping = {}, resultExtract } = metadata.mcp;
  return definedOnly<Binding>({
    tool,
    range,
    dropInputs: schemaNarrowing?.dropInputs ?? [],
    dropOutputs: schemaNarrowing?.dropOutputs ?? [],
    ...{ mapping, cost, timeoutMs, retry, toolName, argumentMapping, resultExtract },
    metadata: metadata.others,
    origin: { file, line: node.line, column: node.column, format: "driver", places: placesOf(node) },
  });
}

const FIELDS: Readonly<Record<BindingField, readonly string[]>> = {
  version: ["version"],
  mapping: ["mapping"],
  timeout_override_ms: ["timeout_override_ms"],
  drop_inputs: ["schema_narrowing", "drop_inputs"],
  drop_outputs: ["schema_narrowing", "drop_outputs"],
  tool_name: ["metadata", "mcp", "tool_name"],
  argument_mapping: ["metadata", "mcp", "argument_mapping"],
  result_extract: ["metadata", "mcp", "result_extract"],
};

function placesOf(node: TextNode): Record<string, TextPlace> {
  const found = Object.entries(FIELDS).flatMap(([field, path]): [string, TextPlace][] => {
    const entry = entryOf(nodeAt(node, ...path.slice(0, -1)), path.at(-1) ?? "");
    return entry === undefined ? [] : [[field, placeOf(entry)]];
  });
  return Object.fromEntries(found);
}
