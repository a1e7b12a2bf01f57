// Launch settings of a driver: its sandbox, its install methods, and the machines it runs on.

import type { LaunchSettings, SandboxDeclaration } from "../../../model/index.ts";
import { entryOf, nodeAt, type ObjectNode } from "../../document/index.ts";
import { definedOnly, filled } from "../../manifest/index.ts";
import type { ReadContext } from "../../schema-builder/index.ts";
import type { McpDriverValue } from "../schema/mcp-schema.ts";

export interface LaunchContext extends ReadContext {
  readonly root: ObjectNode;
  /** A remote server has no program here, and no sandbox unless the driver writes one. */
  readonly remote: boolean;
}

export function toLaunchSettings(driver: McpDriverValue, context: LaunchContext): LaunchSettings {
  noteUnused(context);
  return definedOnly<LaunchSettings>({
    sandbox: toSandbox(driver, context),
    askedMode: driver.sandbox?.mode === "warn" ? "warn" : undefined,
    install: filled(driver.install),
    versionCheck: driver.versionCheck,
    requires: driver.requires,
  });
}

/** Without a list of hosts, the server has no network at all. */
function toSandbox(
  driver: McpDriverValue,
  { root, diagnostics, remote }: LaunchContext,
): SandboxDeclaration | undefined {
  const { network, sandbox } = driver;
  const inner = entryOf(nodeAt(root, "sandbox"), "network");
  if (inner !== undefined && nodeAt(root, "network") !== undefined)
    diagnostics.add(inner, "network stands here and beside sandbox", "Keep the one beside sandbox.");
  if (remote && sandbox === undefined && network === undefined) return undefined;
  const { fs, env, home, limits, pathArguments, exec } = sandbox ?? {};
  const egress = (network ?? sandbox?.network)?.egress ?? [];
  return definedOnly<SandboxDeclaration>({ fs, env, home, limits, pathArguments, network: egress, exec });
}

function noteUnused({ root, diagnostics, remote }: LaunchContext): void {
  const note = (path: readonly string[], message: string): void => {
    const node = nodeAt(root, ...path);
    if (node !== undefined && node.kind !== "null" && !(node.kind === "list" && node.items.length === 0))
      diagnostics.add(node, message, undefined, "info");
  };
  note(["runner"], "runner is not used: an MCP server has a process of its own");
  note(["network", "ingress"], "network.ingress is not used: only this program connects to the server");
  if (remote)
    for (const key of ["min_disk_mb", "min_memory_mb"])
      note(["requires", key], `requires.${key} is not checked: the server runs elsewhere`);
}
