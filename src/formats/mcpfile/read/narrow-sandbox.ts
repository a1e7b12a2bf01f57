// A command's own sandbox inside of its file's: it may take away, and never add.

import { isLocalhostName } from "../../../base/net/addresses.ts";
import {
  LIMIT_NAMES,
  matchesRule,
  type NetworkRule,
  parseNetworkRule,
  type ResourceLimits,
  type SandboxConfig,
  type SandboxMode,
} from "../../../model/index.ts";
import { definedOnly, filled } from "../../manifest/index.ts";
import { nodeAt, type Place, type Diagnostics, quoted, type TextNode } from "../../document/index.ts";

const STRICTNESS: Readonly<Record<SandboxMode, number>> = { off: 0, warn: 1, enforce: 2 };

/** Both together; what would be more than `outer` is a problem. Without an `outer` a command's own is all there is. */
export function narrowSandbox(
  outer: SandboxConfig | undefined,
  inner: SandboxConfig | undefined,
  node: TextNode | undefined,
  diagnostics: Diagnostics,
): SandboxConfig | undefined {
  if (outer === undefined || inner === undefined || node === undefined) return inner ?? outer;
  const widens = (what: string, ...path: (string | number)[]): void =>
    diagnostics.add(
      placeOf(node, path),
      `the sandbox of the file does not allow ${what}`,
      "A command can only narrow the sandbox of the file. To allow more, change the sandbox of the file.",
    );
  checkWords(outer, inner, widens);
  checkPaths(outer, inner, widens);
  checkLists(outer, inner, widens);
  checkLimits(outer, inner, widens);
  const deny = [...new Set([...(outer.fs?.deny ?? []), ...(inner.fs?.deny ?? [])])];
  return definedOnly<SandboxConfig>({
    ...outer,
    ...inner,
    fs: filled(definedOnly({ ...outer.fs, ...inner.fs, deny: deny.length === 0 ? undefined : deny })),
    env: filled({ ...outer.env, ...inner.env, ...setOf(outer, inner) }),
    exec: filled({ ...outer.exec, ...inner.exec }),
    limits: filled({ ...outer.limits, ...inner.limits }),
    pathArguments: filled({ ...outer.pathArguments, ...inner.pathArguments }),
  });
}

type Widens = (what: string, ...path: (string | number)[]) => void;

function checkWords(outer: SandboxConfig, inner: SandboxConfig, widens: Widens): void {
  const { mode = "enforce" } = outer;
  if (inner.mode !== undefined && STRICTNESS[inner.mode] < STRICTNESS[mode])
    widens(`the mode ${inner.mode}`, "mode");
  if (inner.backend !== undefined && outer.backend !== undefined && inner.backend !== outer.backend)
    widens(`the backend ${inner.backend}`, "backend");
  if (inner.home === "kept" && outer.home !== "kept") widens("a kept home", "home");
  if (inner.exec?.spawn === true && outer.exec?.spawn === false)
    widens("starting other processes", "exec", "spawn");
}

function checkPaths({ fs: outer }: SandboxConfig, { fs: inner }: SandboxConfig, widens: Widens): void {
  const writable = outer?.write ?? [];
  const readable = [...(outer?.read ?? []), ...writable];
  inner?.read?.forEach((path, index) => {
    if (!readable.some((folder) => isWithin(path, folder))) widens(quoted(path), "fs", "read", index);
  });
  inner?.write?.forEach((path, index) => {
    if (!writable.some((folder) => isWithin(path, folder))) widens(quoted(path), "fs", "write", index);
  });
}

function checkLists(outer: SandboxConfig, inner: SandboxConfig, widens: Widens): void {
  const rules = rulesOf(outer.network);
  inner.network?.forEach((host, index) => {
    const [rule] = rulesOf([host]);
    if (rule !== undefined && !isCovered(rule, rules)) widens(quoted(host), "network", index);
  });
  inner.env?.pass?.forEach((name, index) => {
    if (outer.env?.pass?.includes(name) !== true) widens(quoted(name), "env", "pass", index);
  });
  const programs = outer.exec?.allow;
  inner.exec?.allow?.forEach((program, index) => {
    if (programs?.includes(program) === false) widens(quoted(program), "exec", "allow", index);
  });
}

/** A limit that the file leaves open may be set; a lower niceness is more. */
function checkLimits(outer: SandboxConfig, inner: SandboxConfig, widens: Widens): void {
  for (const key of Object.keys(LIMIT_NAMES) as (keyof ResourceLimits)[]) {
    const [most, wanted] = [outer.limits?.[key], inner.limits?.[key]];
    if (most === undefined || wanted === undefined) continue;
    const more = key === "niceness" ? wanted < most : wanted > most;
    if (more) widens(`${LIMIT_NAMES[key]} ${wanted}`, "limits", LIMIT_NAMES[key]);
  }
}

function setOf(outer: SandboxConfig, inner: SandboxConfig): SandboxConfig["env"] {
  if (outer.env?.set === undefined && inner.env?.set === undefined) return {};
  return { set: { ...outer.env?.set, ...inner.env?.set } };
}

function rulesOf(hosts: readonly string[] | undefined): NetworkRule[] {
  return (hosts ?? []).flatMap((host) => {
    const parsed = parseNetworkRule(host);
    return parsed.ok ? [parsed.rule] : [];
  });
}

function isCovered(rule: NetworkRule, by: readonly NetworkRule[]): boolean {
  const covers = (outer: NetworkRule, port: number): boolean => {
    if (rule.kind === "name" || rule.kind === "address") return matchesRule(outer, rule.host, port);
    if (!outer.ports.includes(port)) return false;
    if (outer.kind === "public") return rule.kind === "public" || !isLocalhostName(rule.host);
    return (
      rule.kind === "names below" &&
      outer.kind === "names below" &&
      `.${rule.host}`.endsWith(`.${outer.host}`)
    );
  };
  return rule.ports.every((port) => by.some((outer) => covers(outer, port)));
}

function isWithin(path: string, folder: string): boolean {
  const base = folder.endsWith("/") ? folder : `${folder}/`;
  return `${path}/`.startsWith(base);
}

/** The nearest thing that is written there: a short form has no inside. */
function placeOf(node: TextNode, path: readonly (string | number)[]): Place {
  for (let length = path.length; length > 0; length -= 1) {
    const [first, ...rest] = path.slice(0, length);
    const found =
      nodeAt(node, first ?? "", ...rest) ??
      (first === "network" ? nodeAt(node, "network", "egress", ...rest) : undefined);
    if (found !== undefined) return found;
  }
  return node;
}
