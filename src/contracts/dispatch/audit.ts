// Audit events of contracts: routes, calls, and grants of secrets. They never contain a value.

import type { Driver } from "../../model/index.ts";
import type { AuthState } from "../auth/auth-store.ts";
import type { PhaseName, Resolution } from "../routing/route.ts";
import type { CallContext } from "../contract/call-context.ts";
import type { BoundTool } from "../driver/bound-tool.ts";

export type AuditEvent = ResolvedEvent | InvokedEvent | SecretEvent;

/** A contract call was routed to a driver, or to none. */
export interface ResolvedEvent {
  readonly type: "driver.resolved";
  readonly tool: string;
  /** Number of drivers after these phases. */
  readonly afterCapability: number;
  readonly afterPolicy: number;
  readonly pin?: string;
  readonly rejected: readonly {
    readonly provider_id: string;
    readonly phase: PhaseName;
    readonly reason: string;
  }[];
  readonly selected?: string;
  readonly user?: string;
  readonly workspace?: string;
  readonly ts: string;
}

/** A driver was called. */
export interface InvokedEvent {
  readonly type: "driver.invoked";
  readonly provider_id: string;
  readonly provider_version: string;
  readonly tool_id: string;
  readonly tool_mutates: readonly string[];
  readonly user?: string;
  readonly workspace?: string;
  readonly input_keys: readonly string[];
  readonly duration_ms: number;
  readonly ok: boolean;
  readonly code?: string;
  readonly retries: number;
  readonly cost_units_charged: number;
  readonly auth_state: AuthState;
  readonly kind: "mcp";
  readonly mcp_tool_name: string;
  readonly transport: Driver["transport"];
  readonly server_kind: Driver["server"]["kind"];
  readonly ts: string;
}

/** A driver got a secret, or was denied it. */
export interface SecretEvent {
  readonly type: "secret.reveal" | "secret.reveal.denied";
  readonly slug: string;
  readonly operation: "bind";
  readonly driver?: string;
  readonly tool?: string;
  readonly user?: string;
  /** Such as `tool:fs-read`; absent when it was denied. */
  readonly granted_by?: string;
  readonly reason?: string;
  readonly ts: string;
}

export interface Audit {
  (event: AuditEvent): void;
  /** False while no listener wants events of calls: then none are made. */
  readonly hearsCalls?: boolean;
}

/** For events that occur with every call. */
export function auditOfCalls(audit: Audit | undefined): Audit | undefined {
  return audit?.hearsCalls === false ? undefined : audit;
}

export function resolvedEvent(
  tool: string,
  { phases, selected }: Resolution,
  context: CallContext,
): ResolvedEvent {
  const { pinnedProvider: pin } = context;
  const after = (name: PhaseName): number => phases.find(({ phase }) => phase === name)?.kept.length ?? 0;
  return {
    type: "driver.resolved",
    tool,
    afterCapability: after("capability"),
    afterPolicy: after("policy"),
    pin,
    rejected: phases.flatMap(({ phase, rejected }) =>
      rejected.map(({ driver, reason }) => ({ provider_id: driver, phase, reason })),
    ),
    selected,
    ...callerOf(context),
    ts: now(),
  };
}

interface Outcome {
  readonly inputKeys: readonly string[];
  readonly ms: number;
  readonly code: string | undefined;
  readonly retries: number;
  readonly auth: AuthState;
}

export function invokedEvent(
  { driver, contract, binding, cost }: BoundTool,
  context: CallContext,
  outcome: Outcome,
): InvokedEvent {
  const what = { id: contract.id, mutates: contract.mutates, toolName: binding.toolName };
  return eventOf(driver, what, context, outcome, cost.unitsPerCall ?? 0);
}

/** Event of a forwarded request: a prompt by its name, a resource by its kind only. */
export function forwardedEvent(
  driver: Driver,
  { method, id }: { readonly method: string; readonly id: string },
  context: CallContext,
  outcome: Outcome,
): InvokedEvent {
  return eventOf(driver, { id, mutates: [], toolName: method }, context, outcome, 0);
}

function eventOf(
  driver: Driver,
  what: { readonly id: string; readonly mutates: readonly string[]; readonly toolName: string },
  context: CallContext,
  { inputKeys, ms, code, retries, auth }: Outcome,
  units: number,
): InvokedEvent {
  return {
    type: "driver.invoked",
    provider_id: driver.id,
    provider_version: driver.version,
    tool_id: what.id,
    tool_mutates: what.mutates,
    ...callerOf(context),
    input_keys: inputKeys,
    duration_ms: ms,
    ok: code === undefined,
    code,
    retries,
    cost_units_charged: units,
    auth_state: auth,
    kind: "mcp",
    mcp_tool_name: what.toolName,
    transport: driver.transport,
    server_kind: driver.server.kind,
    ts: now(),
  };
}

function callerOf({ userId, workspaceId }: CallContext): { user?: string; workspace?: string } {
  return { user: userId, workspace: workspaceId };
}

function now(): string {
  return new Date().toISOString();
}
