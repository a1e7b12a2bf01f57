// Keys of a driver that other texts and older samples use: told with where they belong now.

import type { ObjectNode, Diagnostics } from "../document/index.ts";
import { type Moved, takeMoved } from "./strict-keys.ts";

const TOOL_NAME = "Write metadata: { mcp: { tool_name: <name> } } in each entry of implements.";
const MOVED: Readonly<Record<string, Moved>> = {
  mcp_tools: { hint: TOOL_NAME },
  mcp_tool_name: { hint: TOOL_NAME },
  server_ref: { hint: "Write server: { kind: npm, package: <name> }, or another kind of server." },
  prompts_ref: { hint: "Write prompts: with an entry for each prompt." },
  driver: { hint: "This file is the driver; its fields stand at the top.", severity: "warning" },
  concrete: { hint: "Every driver is concrete; remove it.", severity: "warning" },
};
const MOVED_IN_BINDING: Readonly<Record<string, Moved>> = {
  mcp_tool_name: { hint: "Write metadata: { mcp: { tool_name: <name> } }." },
  tool_name: { hint: "Write metadata: { mcp: { tool_name: <name> } }." },
  argument_mapping: { hint: "It belongs into metadata.mcp." },
  result_extract: { hint: "It belongs into metadata.mcp." },
  mcp: { hint: "Write it one level deeper: metadata: { mcp: … }." },
};
const MOVED_IN_SANDBOX: Readonly<Record<string, Moved>> = {
  backend: { hint: "What holds a driver is for the workspace to say, not for the driver." },
};

/** The tree without such keys. */
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
