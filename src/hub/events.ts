// Events of a hub on one typed bus, for listeners and as an async iterator.

import type { AuditEvent } from "../contracts/index.ts";
import { type ErrorCode, guardCallback, type Report } from "../errors/index.ts";
import type { LaunchNews } from "../launch/index.ts";
import type { ApprovalWay, PinMode, SandboxMode } from "../model/index.ts";
import type { Redactor } from "../secrets/index.ts";

interface Common {
  /** ISO time. */
  readonly time: string;
  readonly server: string;
}

/** A server was started, is ready, failed, was stopped or restarted, or something is installed for it. */
export interface ServerEvent extends Common {
  readonly type:
    /** Its process was started, or, without a process of its own, its connection was opened. */
    | "mcp.server_started"
    | "mcp.server_ready"
    | "mcp.server_failed"
    /** A new process of a changed config or a restart could not start, or secrets cannot be read again; the earlier process serves. */
    | "mcp.server_replacement_failed"
    | "mcp.server_stopped"
    | "mcp.server_restarted"
    /** A package or image is being downloaded, or has been; `reason` names it. */
    | "mcp.server_installing";
  /** The caller of the gateway, for its own connection to a server with `per_caller`. */
  readonly caller?: string;
  readonly code?: ErrorCode;
  readonly reason?: string;
  /** The next step for a person, of a server that failed. */
  readonly hint?: string;
  /** Progress of a download; absent at its beginning and end. */
  readonly bytes?: { readonly received: number; readonly total?: number };
}

/** A server has other tools than before. */
export interface ToolsChangedEvent extends Common {
  readonly type: "mcp.tools_changed";
  /** The caller of the gateway, for its own list of a server with `per_caller`. */
  readonly caller?: string;
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/** A tool was called, or its call failed. */
export interface ToolEvent extends Common {
  readonly type: "mcp.tool_called" | "mcp.tool_failed";
  readonly tool: string;
  /** The account of the caller, if there are several. */
  readonly caller?: string;
  readonly durationMs: number;
  /** The names of the arguments, never their values. */
  readonly argumentKeys: readonly string[];
  readonly inputBytes: number;
  readonly outputBytes?: number;
  readonly code?: ErrorCode;
  readonly reason?: string;
}

/** The config files have changed, and every server of the change is ready or has failed. */
export interface ConfigReloadedEvent extends Common {
  readonly type: "mcp.config_reloaded";
  /** Servers by alias. */
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** The servers of the change that cannot be used. */
  readonly failed: readonly { readonly server: string; readonly reason: string }[];
  /** Errors in the config files, each with its file and line. A file with errors leaves the earlier state in place. */
  readonly problems: readonly string[];
}

/** A server tried to reach a host that its sandbox does not grant, or that this machine cannot reach. */
export interface SandboxDeniedEvent extends Common {
  readonly type: "mcp.sandbox_denied";
  /** `unreachable`: the sandbox grants the host, but this machine could not reach it. Absent for a host that is not granted. */
  readonly kind?: "unreachable";
  readonly host: string;
  /** Absent if the sandbox refused the lookup of the name: the server had not chosen a port yet. */
  readonly port?: number;
  readonly reason: string;
  /** The network rule that would allow the connection, if it is not the host itself. */
  readonly rule?: string;
}

/** A server failed on a path that its sandbox hides or protects, as its own words or the arguments of a call show. */
export interface SandboxPathDeniedEvent extends Common {
  readonly type: "mcp.sandbox_path_denied";
  readonly path: string;
  /** `read`: the sandbox hides the path. `write`: it shows the path, and protects it from writing. */
  readonly access: "read" | "write";
  readonly reason: string;
  /** The command that grants the path. Absent if no grant would help. */
  readonly grant?: string;
}

/** A server was started with a weaker sandbox than the default. */
export interface SandboxRelaxedEvent extends Common {
  readonly type: "mcp.sandbox_relaxed";
  readonly mode: SandboxMode;
  readonly by: string;
  /** The sandbox rules that are not enforced. */
  readonly missing: readonly string[];
}

/**
 * The comparison of a server's tools with the lock file has another result than before. Without names and without a
 * reason, all tools match their pins again, or, with the mode `off`, the tools are not compared any more.
 */
export interface PinsComparedEvent extends Common {
  readonly type: "mcp.pins_compared";
  readonly mode: PinMode;
  /** Tools whose definition is not the approved one. */
  readonly changed: readonly string[];
  /** Tools that nobody approved. */
  readonly added: readonly string[];
  /** Approved tools that the server does not have any more. */
  readonly removed: readonly string[];
  /** How many tools are not offered. */
  readonly withheld: number;
  /** Why no tool could be compared. */
  readonly reason?: string;
  /** The next step for a person; absent when all tools match. */
  readonly hint?: string;
}

/** The gateway refused a request: a missing or wrong token, Host or Origin, or an exceeded limit. `server` is `gateway`. */
export interface GatewayRefusedEvent extends Common {
  readonly type: "gateway.refused";
  readonly code: ErrorCode;
  readonly reason: string;
  /** The caller that exceeded its limit. */
  readonly caller?: string;
  /** The address of the client. */
  readonly address?: string;
  readonly path: string;
  /** Refusals since the last event that were not reported. */
  readonly more?: number;
}

/**
 * The rules of a caller refused a call. To the caller, what it named does not exist. `server` is the server that has it. A flood of
 * refusals costs one event per second.
 */
export interface CallRefusedEvent extends Common {
  readonly type: "gateway.call_refused";
  readonly caller: string;
  /** The server's own name of the tool or prompt, or the URI of the resource. */
  readonly tool: string;
  /** The setting of the caller that refuses, such as `deny.tools: files.write_*`. */
  readonly rule: string;
  /** Refusals since the last event that were not reported. */
  readonly more?: number;
}

/** The gateway settings of the config files changed, or the operator requested a reload. `server` is `gateway`. */
export interface GatewayReloadedEvent extends Common {
  readonly type: "gateway.reloaded";
  /** Settings that are in use now. */
  readonly changed: readonly string[];
  /** Changed settings that apply after the next start. */
  readonly restart: readonly string[];
  /** Errors, because of which the earlier settings stay in use. */
  readonly problems: readonly string[];
}

/** A caller used up a budget. One event for each budget, caller and period, with the first call that was refused. */
export interface BudgetExceededEvent extends Common {
  readonly type: "gateway.budget_exceeded";
  readonly tool: string;
  readonly caller: string;
  readonly budget: string;
  readonly kind: "calls" | "cost";
  readonly used: number;
  readonly amount: number;
  readonly periodMs: number;
  /** ISO time at which the budget is free again. */
  readonly until: string;
}

/** The loop breaker refused a call that its caller repeated. One event for each loop, with its first refused call. */
export interface LoopStoppedEvent extends Common {
  readonly type: "gateway.loop_stopped";
  readonly tool: string;
  readonly caller: string;
  /** Identical calls that were sent. */
  readonly calls: number;
  readonly withinMs: number;
  /** ISO time at which the call is possible again. */
  readonly until: string;
}

/** A call waits for approval, was decided about, or waits no longer. `server` and `tool` are those of the call. */
export interface ApprovalEvent extends Common {
  readonly type:
    | "gateway.approval_requested"
    | "gateway.approval_granted"
    | "gateway.approval_denied"
    /** The time ended without a decision. */
    | "gateway.approval_expired"
    /** The client cancelled the call. */
    | "gateway.approval_withdrawn";
  readonly id: string;
  readonly tool: string;
  /** The account of the caller. */
  readonly caller: string;
  /** The rule that asks for the approval. */
  readonly rule: string;
  /** Where a person decided. */
  readonly by?: ApprovalWay;
  /** Where a requested call can be approved. */
  readonly ways?: readonly ApprovalWay[];
  /** Why the call needs approval, or why it was denied. */
  readonly reason?: string;
  /** ISO time at which the call stops to wait. */
  readonly expires?: string;
}

/** An audit event of a contract call: the chosen driver, the called tool, the secrets used. `server` is the driver. */
export type ContractEvent = Common & AuditEvent;

/** Everything that a workspace reports while it runs; docs/reference/events.md lists the events. */
export type HubEvent =
  | ServerEvent
  | ToolsChangedEvent
  | PinsComparedEvent
  | ConfigReloadedEvent
  | ToolEvent
  | SandboxDeniedEvent
  | SandboxPathDeniedEvent
  | SandboxRelaxedEvent
  | GatewayRefusedEvent
  | CallRefusedEvent
  | GatewayReloadedEvent
  | BudgetExceededEvent
  | LoopStoppedEvent
  | ApprovalEvent
  | ContractEvent;
type Unstamped<E> = E extends HubEvent ? Omit<E, "time"> : never;

export function toAuditEvent(event: AuditEvent): Unstamped<HubEvent> {
  const driver =
    event.type === "driver.resolved"
      ? event.selected
      : event.type === "driver.invoked"
        ? event.provider_id
        : event.driver;
  return { ...event, server: driver ?? "contracts" };
}

/** The event for a launch report; undefined for most. A host name may contain a secret, so it is redacted. */
export function toLaunchEvent(
  server: string,
  news: LaunchNews,
  redactor: Redactor,
): Unstamped<HubEvent> | undefined {
  if (news.type === "denied") {
    const [host, reason] = [redactor.redactText(news.host), redactor.redactText(news.reason)];
    const { kind, grant: rule } = news;
    const port = news.port === 0 ? undefined : news.port;
    return { type: "mcp.sandbox_denied", server, ...(kind && { kind }), host, port, reason, rule };
  }
  if (news.type === "progress") {
    const { what: reason, bytes } = news;
    return { type: "mcp.server_installing", server, reason, bytes };
  }
  if (news.type === "started") return undefined;
  const { mode, by, missing } = news.plan.sandbox;
  if (mode === "enforce") return undefined;
  return { type: "mcp.sandbox_relaxed", server, mode, by, missing: missing.map(({ rule }) => rule) };
}

/** True for events that occur with every call. */
function isOfCall({ type }: HubEvent): boolean {
  return type.startsWith("mcp.tool_") || type.startsWith("driver.");
}

/** The number of events that an iterator buffers; older ones are dropped. */
const MAX_WAITING = 10_000;

/** The events of a workspace: subscribe with `on()`, or iterate over all events from now on with `for await`. */
export interface WorkspaceEvents extends AsyncIterable<HubEvent> {
  /**
   * Registers a listener, and returns the function that removes it. With `calls: false` it gets no events about single calls, which
   * then cost nothing.
   */
  on(listener: (event: HubEvent) => void, options?: { calls?: boolean }): () => void;
}

/** The events of a hub, with the methods of those who send them. */
export class EventBus implements WorkspaceEvents {
  readonly #listeners = new Set<(event: HubEvent) => void>();
  readonly #closers = new Set<() => void>();
  #callListeners = 0;
  #closed = false;
  readonly #report: Report;

  /** `report` receives the exceptions of listeners. */
  constructor(report: Report) {
    this.#report = report;
  }

  /** True when any listener receives call events; if not, calls are not measured. */
  get hearsCalls(): boolean {
    return this.#callListeners > 0;
  }

  emit(event: Unstamped<HubEvent>): void {
    if (this.#listeners.size === 0) return;
    const stamped = { time: new Date().toISOString(), ...event } as HubEvent;
    for (const listener of this.#listeners) listener(stamped);
  }

  /** Registers a listener. Without `calls` it gets no events about single calls, which then cost nothing. */
  on(listener: (event: HubEvent) => void, { calls = true }: { calls?: boolean } = {}): () => void {
    const guarded = guardCallback("events.on", listener, this.#report);
    const own = (event: HubEvent): void => {
      if (calls || !isOfCall(event)) guarded(event);
    };
    this.#listeners.add(own);
    if (calls) this.#callListeners += 1;
    return () => {
      if (this.#listeners.delete(own) && calls) this.#callListeners -= 1;
    };
  }

  /** Iterates over all events from now on, until the bus closes or the loop ends. */
  [Symbol.asyncIterator](): AsyncIterator<HubEvent> {
    const waiting: HubEvent[] = [];
    let wake: (() => void) | undefined;
    let done = this.#closed;
    const off = this.on((event) => {
      waiting.push(event);
      if (waiting.length > MAX_WAITING) waiting.shift();
      wake?.();
    });
    const end = (): void => {
      done = true;
      off();
      this.#closers.delete(end);
      wake?.();
    };
    this.#closers.add(end);
    return {
      async next() {
        while (waiting.length === 0 && !done) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
        const value = waiting.shift();
        return value === undefined ? { done: true, value: undefined } : { done: false, value };
      },
      async return() {
        end();
        return { done: true, value: undefined };
      },
    };
  }

  close(): void {
    this.#closed = true;
    for (const end of [...this.#closers]) end();
    this.#listeners.clear();
    this.#callListeners = 0;
  }
}
