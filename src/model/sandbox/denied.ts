// What a server was refused, in words: what happened, and exactly what would grant it.

import { isIP } from "node:net";
import { bracketed } from "../../base/net/addresses.ts";
import type { Report } from "../../errors/index.ts";
import { parseNetworkRule } from "./network-rule.ts";

export interface Denied {
  readonly server: string;
  readonly host: string;
  /** 0: it was only looked up by name, and not told where it is. */
  readonly port: number;
  readonly reason: string;
  /** The rule that would grant it, where that is not the host itself. */
  readonly grant?: string | undefined;
}

const USUAL_PORTS = new Set([0, 80, 443]);
const MAX_NAMED = 3;
/** A server may try a thousand hosts; the first ones tell enough. */
const MAX_REPORTED = 50;

export type ReportDenied = (denied: Denied, granted: readonly string[]) => void;

/** Each target once. `granted` is the list of hosts that the server has. */
export function createDeniedReport(report: Report): ReportDenied {
  const told = new Set<string>();
  return (denied, granted) => {
    const target = targetOf(denied);
    if (told.has(target) || told.size >= MAX_REPORTED) return;
    told.add(target);
    const { server, reason } = denied;
    const message = `${server} was refused ${target === "" ? "a connection" : target}: ${reason}`;
    const hint = grantHint([denied], granted);
    report({ code: "SANDBOX_DENIED", severity: "warning", server, message, hint });
  };
}

/** For an error that such attempts may well be the reason of. Undefined when no grant would help. */
export function deniedHint(denied: readonly Denied[], granted: readonly string[]): string | undefined {
  const hint = grantHint(denied, granted);
  if (hint === undefined) return undefined;
  const rules = rulesFor(denied, granted).join(", ");
  return `It tried to reach ${rules}, which its sandbox does not grant. ${hint}`;
}

/** Empty when it is not known. */
function targetOf({ host, port }: Pick<Denied, "host" | "port">): string {
  const address = bracketed(host);
  return port === 0 ? address : `${address}:${port}`;
}

function grantHint(denied: readonly Denied[], granted: readonly string[]): string | undefined {
  const rules = rulesFor(denied, granted).map((rule) => quoted(rule));
  if (rules.length === 0) return undefined;
  const options = rules.map((rule) => `--allow-net ${rule}`).join(" ");
  const before = granted.length > MAX_NAMED ? ["…"] : granted.map((rule) => quoted(rule));
  const list = [...before, ...rules].join(", ");
  return `If it should reach ${rules.length === 1 ? "it" : "them"}: ${options}, or sandbox: { network: [${list}] } in its config.`;
}

/** The server chose the hosts: only plain ones are ever offered to be granted, and only a few. */
function rulesFor(denied: readonly Denied[], granted: readonly string[]): string[] {
  const rules = denied.flatMap(({ host, port, grant }) => {
    const target = grant ?? targetOf({ host, port: USUAL_PORTS.has(port) ? 0 : port });
    const parsed = parseNetworkRule(target);
    return parsed.ok && /^(?:name|address)$/.test(parsed.rule.kind) ? [parsed.rule.text] : [];
  });
  return [...new Set(rules)].filter((rule) => !granted.includes(rule)).slice(0, MAX_NAMED);
}

/** For a shell, and for YAML. */
function quoted(rule: string): string {
  return /^[\w.:-]+$/.test(rule) ? rule : `"${rule}"`;
}
