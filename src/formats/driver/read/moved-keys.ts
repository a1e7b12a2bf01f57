// Keys without an effect: those that belong elsewhere, with where they belong, and probable typing errors.

import { didYouMean } from "../../../errors/index.ts";
import { type ObjectNode, type Diagnostics, quoted, toLabel } from "../../document/index.ts";

export interface Moved {
  readonly hint: string;
  /** Default: error, because the value of the key would be lost. */
  readonly severity?: "warning";
}

/** Usual keys of other formats. They resemble known ones, and are no typing errors. */
const ORDINARY: ReadonlySet<string> = new Set([
  "spec",
  "title",
  "author",
  "authors",
  "license",
  "homepage",
  "repository",
]);

/** Removes such keys from the node and reports each of them. */
export function takeMoved(
  node: ObjectNode,
  moved: Readonly<Record<string, Moved>>,
  diagnostics: Diagnostics,
): ObjectNode {
  const kept = node.entries.filter((entry) => {
    const found = Object.hasOwn(moved, entry.key) ? moved[entry.key] : undefined;
    if (found === undefined) return true;
    const where = toLabel(node.path);
    diagnostics.add(
      entry,
      `the key ${entry.key} is not allowed ${where === "" ? "here" : `in ${where}`}`,
      found.hint,
      found.severity ?? "error",
    );
    return false;
  });
  return kept.length === node.entries.length ? node : { ...node, entries: kept };
}

/** Warns of keys in an open object that resemble a known key. */
export function noteSlips(node: ObjectNode, known: readonly string[], diagnostics: Diagnostics): void {
  for (const entry of node.entries) {
    if (known.includes(entry.key) || ORDINARY.has(entry.key) || entry.key.startsWith("x-")) continue;
    if (diagnostics.list.length >= 100) return;
    const hint = didYouMean(entry.key, known);
    if (hint === undefined) continue;
    const where = toLabel(node.path);
    diagnostics.warn(
      entry,
      `the key ${quoted(entry.key)}${where === "" ? "" : ` in ${where}`} is not known and has no effect`,
      hint,
    );
  }
}

const TOOL_NAME = "Write metadata: { mcp: { tool_name: <name> } } in each entry of implements.";
const MOVED: Readonly<Record<string, Moved>> = {
  mcp_tools: { hint: TOOL_NAME },
  mcp_tool_name: { hint: TOOL_NAME },
  server_ref: { hint: "Write server: { kind: npm, package: <name> }, or another kind of server." },
  prompts_ref: { hint: "Write prompts: with an entry for each prompt." },
  driver: { hint: "This file is the driver, so its fields are at the top level.", severity: "warning" },
  concrete: { hint: "Remove the key. It has no meaning in a driver.", severity: "warning" },
};
const MOVED_IN_BINDING: Readonly<Record<string, Moved>> = {
  mcp_tool_name: { hint: "Write metadata: { mcp: { tool_name: <name> } }." },
  tool_name: { hint: "Write metadata: { mcp: { tool_name: <name> } }." },
  argument_mapping: { hint: "Write it in metadata.mcp: metadata: { mcp: { argument_mapping: … } }." },
  result_extract: { hint: "Write it in metadata.mcp: metadata: { mcp: { result_extract: … } }." },
  mcp: { hint: "Write it one level deeper: metadata: { mcp: … }." },
};
const MOVED_IN_SANDBOX: Readonly<Record<string, Moved>> = {
  backend: { hint: "Remove the key. Portolan chooses the sandbox backend; a driver cannot choose it." },
};

/** The driver without keys of older samples and other formats, each of them reported with where it belongs now. */
export function withoutMoved(root: ObjectNode, diagnostics: Diagnostics): ObjectNode {
  const top = takeMoved(root, MOVED, diagnostics);
  const entries = top.entries.map((entry) => {
    const { key, value } = entry;
    if (key === "implements" && value.kind === "list") {
      const items = value.items.map((item) =>
        item.kind === "object" ? takeMoved(item, MOVED_IN_BINDING, diagnostics) : item,
      );
      return { ...entry, value: { ...value, items } };
    }
    if (key === "sandbox" && value.kind === "object")
      return { ...entry, value: takeMoved(value, MOVED_IN_SANDBOX, diagnostics) };
    return entry;
  });
  return { ...top, entries };
}
