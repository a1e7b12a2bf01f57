// Launch settings of a driver: its sandbox, its install methods and vendored programs, and the machines it runs on.

import { dirname, resolve } from "node:path";
import { portOf } from "../../../base/net/urls.ts";
import {
  type DriverServer,
  type LaunchSettings,
  matchesRule,
  parseNetworkRule,
  type SandboxConfig,
} from "../../../model/index.ts";
import {
  type Diagnostics,
  entryOf,
  nodeAt,
  type ObjectNode,
  quoted,
  type TextNode,
} from "../../document/index.ts";
import { definedOnly, filled } from "../../manifest/index.ts";
import type { ReadContext } from "../../schema-builder/index.ts";
import type { McpDriverValue } from "../schema/mcp-schema.ts";
import { readFrontmatter } from "./frontmatter.ts";

interface LaunchContext extends ReadContext {
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
): SandboxConfig | undefined {
  const { network, sandbox } = driver;
  const inner = entryOf(nodeAt(root, "sandbox"), "network");
  if (inner !== undefined && nodeAt(root, "network") !== undefined)
    diagnostics.add(
      inner,
      "network is set here in sandbox, and at the top level",
      "Keep the one at the top level.",
    );
  if (remote && sandbox === undefined && network === undefined) return undefined;
  const { mode: _mode, tty: _tty, network: own, ...rules } = sandbox ?? {};
  return definedOnly<SandboxConfig>({ ...rules, network: (network ?? own)?.egress ?? [] });
}

function noteUnused({ root, diagnostics, remote }: LaunchContext): void {
  const note = (path: readonly string[], message: string): void => {
    const node = nodeAt(root, ...path);
    if (node !== undefined && node.kind !== "null" && !(node.kind === "list" && node.items.length === 0))
      diagnostics.add(node, message, undefined, "info");
  };
  note(["runner"], "Portolan ignores runner: an MCP server has its own process");
  note(["network", "ingress"], "Portolan ignores network.ingress: only Portolan connects to the server");
  if (remote)
    for (const key of ["min_disk_mb", "min_memory_mb"])
      note(["requires", key], `Portolan does not check requires.${key}: the server runs on another machine`);
}

/** The rule that a remote server's own address needs in `network.egress`. */
export function hostRule(url: string): string {
  return new URL(url).host;
}

/**
 * A remote server must be in `network.egress`, because without a list a driver reaches no host. `place` is the list, or the driver if
 * there is none. Loopback addresses must be listed too.
 */
export function checkEgress(
  server: DriverServer | undefined,
  rules: readonly string[] | undefined,
  place: TextNode,
  diagnostics: Diagnostics,
): void {
  if (server?.kind !== "remote") return;
  const url = new URL(server.url);
  const reached = rules?.some((text) => {
    const parsed = parseNetworkRule(text);
    return parsed.ok && matchesRule(parsed.rule, url.hostname, portOf(url));
  });
  if (reached === true) return;
  const host = hostRule(server.url);
  const line = `network: { egress: [${/^[\w.-]+$/.test(host) ? host : JSON.stringify(host)}] }`;
  if (rules === undefined)
    diagnostics.add(
      place,
      `the driver has no network.egress, so it can reach no host, but its server is at ${quoted(host)}`,
      `Add the line ${line}`,
    );
  else
    diagnostics.add(
      place,
      `network.egress does not contain ${quoted(host)}, the host of the server`,
      `Add ${host} to network.egress.`,
    );
}

export interface VendoredProgram {
  readonly path: string;
  readonly line: number;
  readonly column: number;
}

/** The programs beside a DRIVER.md that its `install` lists, with their positions. */
export function vendoredPrograms(text: string, file: string): readonly VendoredProgram[] {
  if (!text.includes("vendored")) return [];
  const list = nodeAt(readFrontmatter(text, file).root, "install");
  if (list?.kind !== "list") return [];
  return list.items.flatMap((item) => {
    const place = nodeAt(item, "path");
    const path = textOf(place);
    if (place === undefined || path === undefined || textOf(nodeAt(item, "method")) !== "vendored") return [];
    return [{ path: resolve(dirname(file), path), line: place.line, column: place.column }];
  });
}

function textOf(node: TextNode | undefined): string | undefined {
  return node?.kind === "string" ? String(node.value) : undefined;
}
