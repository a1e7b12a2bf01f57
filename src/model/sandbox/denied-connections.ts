// Reports of connections that the sandbox refused: the target, the reason, and the option that would allow it.

import { bracketed } from "../../base/net/addresses.ts";
import type { Report } from "../../errors/index.ts";
import { parseNetworkRule } from "./network-rule.ts";

export interface Denied {
  readonly server: string;
  readonly host: string;
  /** Port 0 means that the name look-up was refused. */
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
    const target = targetOf(denied);
    if (told.has(target) || told.size >= MAX_REPORTED) return;
    told.add(target);
    const { server, reason } = denied;
    const message = `${server} was refused ${target === "" ? "a connection" : target}: ${reason}`;
    const hint = grantHint([denied], granted, command);
    report({ code: "SANDBOX_DENIED", severity: "warning", server, message, hint });
  };
}

/** Returns a hint for an error that refused connections may have caused, or undefined if no rule would help. */
export function deniedHint(
  denied: readonly Denied[],
  granted: readonly string[],
  command?: string,
): string | undefined {
  const hint = grantHint(denied, granted, command);
  if (hint === undefined) return undefined;
  const rules = rulesFor(denied, granted).join(", ");
  return `It tried to reach ${rules}, which its sandbox does not allow. ${hint}`;
}

/** Returns an empty text for an unknown host. */
function targetOf({ host, port }: Pick<Denied, "host" | "port">): string {
  const address = bracketed(host);
  return port === 0 ? address : `${address}:${port}`;
}

function grantHint(
  denied: readonly Denied[],
  granted: readonly string[],
  command: string | undefined,
): string | undefined {
  const rules = rulesFor(denied, granted).map((rule) => quoted(rule));
  if (rules.length === 0) return undefined;
  if (command !== undefined) {
    const words = rules.map((rule) => `--net ${rule}`).join(" ");
    return `To allow ${rules.length === 1 ? "it" : "them"}: ${command} ${words}`;
  }
  const options = rules.map((rule) => `--allow-net ${rule}`).join(" ");
  const before = granted.length > MAX_NAMED ? ["…"] : granted.map((rule) => quoted(rule));
  const list = [...before, ...rules].join(", ");
  return `To allow ${rules.length === 1 ? "it" : "them"}: ${options}, or sandbox: { network: [${list}] } in its config.`;
}

/** The server chose the hosts, so only plain names and addresses are suggested, and only a few. */
function rulesFor(denied: readonly Denied[], granted: readonly string[]): string[] {
  const rules = denied.flatMap(({ host, port, grant }) => {
    const target = grant ?? targetOf({ host, port: USUAL_PORTS.has(port) ? 0 : port });
    const parsed = parseNetworkRule(target);
    return parsed.ok && /^(?:name|address)$/.test(parsed.rule.kind) ? [parsed.rule.text] : [];
  });
  return [...new Set(rules)].filter((rule) => !granted.includes(rule)).slice(0, MAX_NAMED);
}

/** Quotes a rule for a shell and for YAML. */
function quoted(rule: string): string {
  return /^[\w.:-]+$/.test(rule) ? rule : `"${rule}"`;
}
