// The entries of `implements`: each contract once, each with the MCP tool that serves it, and names that do not meet.

import { posix } from "node:path";
import {
  type Binding,
  type BindingField,
  type CostOverride,
  parseJsonPath,
  type RetryRule,
  type TextPlace,
} from "../../model/index.ts";
import { definedOnly } from "../manifest/index.ts";
import {
  entryOf,
  nodeAt,
  type Place,
  type Diagnostics,
  quoted,
  type TextNode,
  toLabel,
} from "../document/index.ts";
import type { CheckedBinding, CheckedCost } from "./checked-driver.ts";
import { checkRange, type CheckedRetry, RETRY_DEFAULTS } from "./fields.ts";
import type { CheckedMcpBinding } from "./mcp-shape.ts";

/** What every kind of driver must hold to. */
export function checkBindings(
  checked: readonly (CheckedBinding | undefined)[],
  list: TextNode | undefined,
  diagnostics: Diagnostics,
): void {
  const seen = new Map<string, Place>();
  for (const [index, binding] of checked.entries()) {
    const node = nodeAt(list, index);
    const place = nodeAt(node, "tool");
    checkRange(binding?.version, nodeAt(node, "version"), diagnostics);
    checkTargets(nodeAt(node, "mapping"), "input", diagnostics);
    if (binding?.tool === undefined || place === undefined) continue;
    checkPath(binding.tool, place, diagnostics);
    const key = posix.normalize(binding.tool);
    const first = seen.get(key);
    if (first === undefined) seen.set(key, place);
    else
      diagnostics.add(
        place,
        `${toLabel(place.path)} is the same contract as ${toLabel(first.path)} at line ${first.line}`,
        "A driver serves a contract once: keep one of the two.",
      );
  }
}

/** What an MCP driver must hold to beside. */
export function checkMcpBindings(list: TextNode | undefined, diagnostics: Diagnostics): void {
  if (list?.kind !== "list") return;
  for (const node of list.items) {
    if (node.kind !== "object") continue;
    const mcp = nodeAt(node, "metadata", "mcp");
    if (mcp === undefined || mcp.kind === "null") {
      diagnostics.add(
        entryOf(nodeAt(node, "metadata"), "mcp") ?? node,
        `${toLabel(node.path)}.metadata.mcp is missing: nothing says which MCP tool serves the contract`,
        "Write metadata: { mcp: { tool_name: <the tool's name> } }.",
      );
      continue;
    }
    checkTargets(nodeAt(mcp, "argument_mapping"), "argument", diagnostics);
    checkExtract(nodeAt(mcp, "result_extract"), diagnostics);
  }
}

export function toBinding(
  checked: CheckedBinding,
  mcp: CheckedMcpBinding,
  node: TextNode,
  file: string,
): Binding {
  const { mcp: _own, ...metadata } = checked.metadata ?? {};
  return definedOnly<Binding>({
    tool: checked.tool ?? "",
    range: checked.version ?? "",
    dropInputs: checked.schema_narrowing?.drop_inputs ?? [],
    dropOutputs: checked.schema_narrowing?.drop_outputs ?? [],
    mapping: checked.mapping ?? {},
    cost: toCost(checked.cost_override),
    timeoutMs: checked.timeout_override_ms,
    retry: toRetry(checked.retry_override),
    toolName: mcp.tool_name ?? "",
    argumentMapping: mcp.argument_mapping ?? {},
    resultExtract: mcp.result_extract,
    metadata,
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

export function placeOf({ line, column }: Place): TextPlace {
  return { line, column };
}

export function toCost(checked: CheckedCost | undefined): CostOverride | undefined {
  if (checked === undefined) return undefined;
  return definedOnly<CostOverride>({
    costClass: checked.cost_class,
    unitsPerCall: checked.cost_units_per_call,
    currency: checked.currency,
  });
}

export function toRetry(checked: CheckedRetry | undefined): RetryRule | undefined {
  if (checked?.max_attempts === undefined) return undefined;
  return {
    maxAttempts: checked.max_attempts,
    backoff: checked.backoff ?? RETRY_DEFAULTS.backoff,
    initialMs: checked.initial_ms ?? RETRY_DEFAULTS.initialMs,
  };
}

/** A file of a workspace is named from inside of it. */
export function checkPath(path: string, place: Place, diagnostics: Diagnostics): void {
  if (/^(?:[\\/]|[A-Za-z]:[\\/]|~)/.test(path))
    diagnostics.add(
      place,
      `${toLabel(place.path)} is an absolute path, which holds on one machine only`,
      "Write it from the workspace or from this file, such as ./tools/fs-read/TOOL.md.",
    );
  else if (/\p{Cc}/u.test(path)) diagnostics.add(place, `${toLabel(place.path)} holds a control character`);
}

/** Two keys with one target: one of the two values would be lost. */
function checkTargets(map: TextNode | undefined, what: string, diagnostics: Diagnostics): void {
  if (map?.kind !== "object") return;
  const seen = new Map<string, string>();
  for (const { key, value } of map.entries) {
    if (value.kind !== "string") continue;
    const target = String(value.value);
    const first = seen.get(target);
    if (first === undefined) seen.set(target, key);
    else
      diagnostics.add(
        value,
        `${quoted(key)} and ${quoted(first)} both become the ${what} ${quoted(target)}`,
        "Give each a name of its own.",
      );
  }
}

function checkExtract(node: TextNode | undefined, diagnostics: Diagnostics): void {
  if (node?.kind !== "string") return;
  const parsed = parseJsonPath(String(node.value));
  if (!parsed.ok)
    diagnostics.add(
      node,
      `${toLabel(node.path)} ${quoted(String(node.value))} is not a path: ${parsed.message}`,
      parsed.hint,
    );
}
