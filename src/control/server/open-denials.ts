// Denials of sandboxes that nobody has granted since: the last events, compared with the present launch plans.

import { homedir } from "node:os";
import type { HubEvent, SandboxDeniedEvent, SandboxPathDeniedEvent } from "../../hub/index.ts";
import type { LaunchPlan } from "../../launch/index.ts";
import { matchesRule, parseNetworkRule } from "../../model/index.ts";
import { hiddenPaths, readOnlyPaths } from "../../sandbox/index.ts";

export type DenialEvent = SandboxDeniedEvent | SandboxPathDeniedEvent;

/** Each path and host once, the newest first. */
export function openDenials(plans: readonly LaunchPlan[], events: readonly HubEvent[]): DenialEvent[] {
  const byServer = new Map(plans.map((plan) => [plan.server, plan]));
  const open = new Map<string, DenialEvent>();
  for (const event of events.toReversed()) {
    if (event.type !== "mcp.sandbox_denied" && event.type !== "mcp.sandbox_path_denied") continue;
    const key = JSON.stringify([event.server, event.type === "mcp.sandbox_denied" ? event.host : event.path]);
    const plan = byServer.get(event.server);
    if (plan !== undefined && !open.has(key) && isOpen(plan, event)) open.set(key, event);
  }
  return [...open.values()];
}

function isOpen({ sandbox: { backend, policy } }: LaunchPlan, event: DenialEvent): boolean {
  if (backend === "none") return false;
  if (event.type === "mcp.sandbox_denied")
    return event.kind === undefined && !isAllowed(policy.network, event);
  const { path, access } = event;
  const program = { args: [path], cwd: policy.cwd, env: {} };
  const isHidden = hiddenPaths(program, policy, homedir()).named.length > 0;
  return isHidden || (access === "write" && readOnlyPaths([path], policy).length > 0);
}

function isAllowed(rules: readonly string[], { host, port, rule }: SandboxDeniedEvent): boolean {
  const wanted = rule === undefined ? undefined : parseNetworkRule(rule);
  const target = wanted?.ok === true ? { host: wanted.rule.host, ports: wanted.rule.ports } : undefined;
  return rules.some((text) => {
    const parsed = parseNetworkRule(text);
    if (!parsed.ok) return false;
    // Without a port, the lookup was refused, which a rule for any port allows.
    const ports = target?.ports ?? (port === undefined ? parsed.rule.ports : [port]);
    return ports.some((one) => matchesRule(parsed.rule, target?.host ?? host, one));
  });
}
