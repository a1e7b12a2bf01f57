// Reports of connections that the sandbox refused, with the option that would allow them, and of granted hosts that could not be
// reached.

import { bracketed } from "../../base/net/addresses.ts";
import type { Report } from "../../errors/index.ts";
import { DRIVER_PLACE, IN_DRIVER, IN_PROGRAM } from "./grant-command.ts";
import { parseNetworkRule } from "./network-rule.ts";

export interface Denied {
  readonly server: string;
  /** `unreachable`: the sandbox grants the host, but this machine could not reach it. No grant would help. */
  readonly kind?: "unreachable";
  readonly host: string;
  /** Port 0 means that the name lookup was refused. */
  readonly port: number;
  readonly reason: string;
  /** The rule that would allow the connection, if it is not the host itself. */
  readonly grant?: string;
}

const USUAL_PORTS = new Set([0, 80, 443]);
const MAX_NAMED = 3;
/** A server may try thousands of hosts; the first ones are enough. */
const MAX_REPORTED = 50;

export type ReportDenied = (denied: Denied, granted: readonly string[]) => void;

/** Reports each target once. `granted` is the allow-list of the server, `command` the one that grants more. */
export function createDeniedReport(report: Report, command?: string): ReportDenied {
  const told = new Set<string>();
  return (denied, granted) => {
    const { server, kind, reason } = denied;
    const target = targetOf(denied);
    const key = `${kind} ${target}`;
    if (told.has(key) || told.size >= MAX_REPORTED) return;
    told.add(key);
    if (kind === "unreachable") {
      const message = unreachableMessage(denied);
      return report({ code: "HOST_UNREACHABLE", severity: "warning", server, message });
    }
    const message = `The sandbox of server "${server}" denied ${target === "" ? "a connection" : `a connection to ${target}`}: ${reason}`;
    const hint = grantHint([denied], granted, command);
    report({ code: "SANDBOX_DENIED", severity: "warning", server, message, hint });
  };
}

/** Returns a hint for an error that refused or failed connections may have caused, or undefined if it would not help. */
export function deniedHint(
  denied: readonly Denied[],
  granted: readonly string[],
  command?: string,
): string | undefined {
  const hint = grantHint(denied, granted, command);
  if (hint === undefined) {
    const unreachable = denied.find(({ kind }) => kind === "unreachable");
    return unreachable && `${unreachableMessage(unreachable)}.`;
  }
  const rules = rulesFor(denied, granted).join(", ");
  return `The server tried to reach ${rules}, which its sandbox does not allow. ${hint}`;
}

/** Describes each refused or unreachable host once, for the result of a call that failed. `grant` is left out if no rule would help. */
export function connectionDenials(
  server: string,
  denied: readonly Denied[],
  granted: readonly string[],
  command?: string,
): (Pick<Denied, "host" | "kind" | "grant"> & { readonly message: string; readonly hint?: string })[] {
  const byTarget = new Map<string, Denied>();
  for (const one of denied) {
    const target = usualTarget(one);
    if (!byTarget.has(target)) byTarget.set(target, one);
  }
  return [...byTarget].map(([target, one]) => {
    const { host, kind } = one;
    if (kind === "unreachable") return { host, kind, message: `${unreachableMessage(one)}.` };
    const what = target === "" ? "a connection" : `the host ${target}`;
    const message = `The sandbox of server "${server}" denied ${what}: ${one.reason}.`;
    const grant = grantOptions(rulesFor([one], granted), granted, command);
    return { host, message, ...(grant && { grant, hint: `Grant it with: ${grant}` }) };
  });
}

function unreachableMessage(denied: Denied): string {
  return `Server "${denied.server}": ${usualTarget(denied)} ${denied.reason}`;
}

/** Returns an empty text for an unknown host. */
function targetOf({ host, port }: Pick<Denied, "host" | "port">): string {
  const address = bracketed(host);
  return port === 0 ? address : `${address}:${port}`;
}

function usualTarget({ host, port }: Pick<Denied, "host" | "port">): string {
  return targetOf({ host, port: USUAL_PORTS.has(port) ? 0 : port });
}

function grantHint(
  denied: readonly Denied[],
  granted: readonly string[],
  command: string | undefined,
): string | undefined {
  const rules = rulesFor(denied, granted);
  const how = grantOptions(rules, granted, command);
  return how === undefined ? undefined : `To allow ${rules.length === 1 ? "it" : "them"}: ${how}`;
}

function grantOptions(
  rules: readonly string[],
  granted: readonly string[],
  command: string | undefined,
): string | undefined {
  if (rules.length === 0) return undefined;
  const words = rules.map((rule) => quoted(rule));
  if (command === IN_PROGRAM)
    return `sandbox: { network: [${[...granted, ...rules].map((rule) => JSON.stringify(rule)).join(", ")}] }`;
  if (command === IN_DRIVER)
    return `network: { egress: [${[...granted, ...rules].map((rule) => quoted(rule)).join(", ")}] } ${DRIVER_PLACE}`;
  if (command !== undefined) return `${command} ${words.map((rule) => `--net ${rule}`).join(" ")}`;
  const options = words.map((rule) => `--allow-net ${rule}`).join(" ");
  const before = granted.length > MAX_NAMED ? ["…"] : granted.map((rule) => quoted(rule));
  return `${options}, or sandbox: { network: [${[...before, ...words].join(", ")}] } in the config of the server.`;
}

/** The server chose the hosts, so only plain names and addresses are suggested, and only a few. */
function rulesFor(denied: readonly Denied[], granted: readonly string[]): string[] {
  const rules = denied.flatMap(({ kind, host, port, grant }) => {
    if (kind === "unreachable") return [];
    const parsed = parseNetworkRule(grant ?? usualTarget({ host, port }));
    return parsed.ok && /^(?:name|address)$/.test(parsed.rule.kind) ? [parsed.rule.text] : [];
  });
  return [...new Set(rules)].filter((rule) => !granted.includes(rule)).slice(0, MAX_NAMED);
}

/** Quotes a rule for a shell and for YAML. */
function quoted(rule: string): string {
  return /^[\w.:-]+$/.test(rule) ? rule : `"${rule}"`;
}
