// How the program of a driver is brought here and boxed.

import {
  type LaunchSettings,
  parseNetworkRule,
  type SandboxDeclaration,
  type VersionCheck,
} from "../../model/index.ts";
import {
  checkVersionCommand,
  checkVersionPattern,
  checkVersionRange,
  definedOnly,
  filled,
} from "../manifest/index.ts";
import {
  entryOf,
  nodeAt,
  type ObjectNode,
  type Diagnostics,
  quoted,
  type TextNode,
} from "../document/index.ts";
import type { CheckedDriver } from "./checked-driver.ts";
import { readInstall } from "./install.ts";
import type { CheckedMcp, CheckedSandboxBlock } from "./mcp-shape.ts";

const OS: Readonly<Record<string, string>> = { windows: "win32" };
const MB = 1024 * 1024;
const ARCH: Readonly<Record<string, string>> = { x86: "ia32" };

export interface LaunchContext {
  readonly root: ObjectNode;
  readonly folder: string;
  readonly diagnostics: Diagnostics;
  /** A server elsewhere has no program here: nothing is boxed unless something is said. */
  readonly remote: boolean;
}

export function readLaunch(driver: CheckedDriver, mcp: CheckedMcp, context: LaunchContext): LaunchSettings {
  const { root, folder, diagnostics } = context;
  const { os, arch, min_memory_mb: memory, min_disk_mb: disk } = driver.requires ?? {};
  noteUnused(context);
  return definedOnly<LaunchSettings>({
    sandbox: readSandbox(driver, mcp.sandbox, context),
    askedMode: mcp.sandbox?.mode === "warn" ? "warn" : undefined,
    install: readInstall(nodeAt(root, "install"), folder, diagnostics),
    versionCheck: readVersionCheck(driver.version_check, nodeAt(root, "version_check"), diagnostics),
    requires: filled(
      definedOnly({
        os: os?.map((name) => OS[name] ?? name),
        arch: arch?.map((name) => ARCH[name] ?? name),
        memoryBytes: memory && memory * MB,
        diskBytes: disk && disk * MB,
      }),
    ),
  });
}

function readVersionCheck(
  checked: CheckedDriver["version_check"],
  node: TextNode | undefined,
  diagnostics: Diagnostics,
): VersionCheck | undefined {
  if (checked === undefined) return undefined;
  const { cmd: command = "", parse = "", range = "", timeout_ms: timeoutMs } = checked;
  const context = { diagnostics, folder: "" };
  if (checked.cmd !== undefined) checkVersionCommand(checked.cmd, nodeAt(node, "cmd"), context);
  if (checked.parse !== undefined) checkVersionPattern(checked.parse, nodeAt(node, "parse"), context);
  if (checked.range !== undefined) checkVersionRange(checked.range, nodeAt(node, "range"), context);
  return definedOnly<VersionCheck>({ command, parse, range, timeoutMs });
}

/** What is absent from `network.egress` is not reached: no network at all when nothing is said. */
function readSandbox(
  driver: CheckedDriver,
  block: CheckedSandboxBlock | undefined,
  { root, diagnostics, remote }: LaunchContext,
): SandboxDeclaration | undefined {
  const node = nodeAt(root, "sandbox");
  const twice = entryOf(node, "network");
  if (twice !== undefined && driver.network !== undefined)
    diagnostics.add(twice, "network stands here and beside sandbox", "Keep the one beside sandbox.");
  const inner = driver.network === undefined && twice !== undefined;
  const written = inner ? block?.network?.egress : driver.network?.egress;
  const place = nodeAt(root, ...(inner ? ["sandbox", "network", "egress"] : ["network", "egress"]));
  const network = readEgress(written, place, diagnostics);
  if (block?.tty?.required === true)
    diagnostics.add(nodeAt(node, "tty") ?? root, "a server has no terminal", "Remove tty.");
  const { exec, fs, env, home, limits, path_arguments: pathArguments } = block ?? {};
  if (remote && block === undefined && driver.network === undefined) return undefined;
  return definedOnly<SandboxDeclaration>({
    fs,
    env,
    home,
    limits,
    pathArguments,
    network: network ?? [],
    exec: toExec(exec),
  });
}

function readEgress(
  hosts: readonly (string | undefined)[] | undefined,
  list: TextNode | undefined,
  diagnostics: Diagnostics,
): readonly string[] | undefined {
  return hosts?.flatMap((host, index) => {
    const place = nodeAt(list, index);
    if (host === undefined || place === undefined) return [];
    const parsed = parseNetworkRule(host);
    if (parsed.ok) return [parsed.rule.text];
    const reason = `${parsed.problem.charAt(0).toLowerCase()}${parsed.problem.slice(1).replace(/\.$/, "")}`;
    diagnostics.add(place, `${quoted(host)} is no host: ${reason}`, parsed.hint);
    return [];
  });
}

/** `allow` says whether and `spawn` says which, or the other way round, as this program's own blocks do. */
function toExec(exec: CheckedSandboxBlock["exec"]): SandboxDeclaration["exec"] {
  if (exec === undefined) return undefined;
  const { allow, spawn } = exec;
  const programs = [allow, spawn].filter((one) => typeof one === "object").flat();
  const none = allow === false || spawn === false;
  if (none || (typeof spawn === "object" && programs.length === 0)) return { spawn: false };
  const named = typeof allow === "object" || typeof spawn === "object";
  return definedOnly({ allow: named ? programs : undefined, spawn: spawn === true ? true : undefined });
}

function noteUnused({ root, diagnostics, remote }: LaunchContext): void {
  const note = (path: readonly string[], message: string): void => {
    const node = nodeAt(root, ...path);
    if (node !== undefined && node.kind !== "null" && !(node.kind === "list" && node.items.length === 0))
      diagnostics.add(node, message, undefined, "info");
  };
  note(["runner"], "runner is not used: an MCP server has a process of its own");
  note(["network", "ingress"], "network.ingress is not used: nothing reaches a server but this program");
  if (remote)
    for (const key of ["min_disk_mb", "min_memory_mb"])
      note(["requires", key], `requires.${key} is not checked: the server runs elsewhere`);
}
