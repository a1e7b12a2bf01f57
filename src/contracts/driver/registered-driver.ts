// What is known of one driver: of each of its processes, and in general for those who have none yet.

import type { Diagnostic } from "../../errors/index.ts";
import type { Driver, DriverPrompt, DriverResource, JsonObject } from "../../model/index.ts";
import type { Upstream } from "../../upstream/index.ts";
import type { DriverStatus } from "../routing/capability.ts";
import type { Acquirer } from "../dispatch/contract-call.ts";
import { isPersonal, processKey } from "./process-key.ts";
import type { BoundTool, CallContext, DriverHooks } from "./bound-tool.ts";

/** Whether a driver, or one process of it, can be used. */
export interface ServerStatus extends Pick<DriverStatus, "server" | "reason" | "code" | "again"> {
  /** Nothing but another declaration, or another program, changes it. */
  readonly final?: boolean | undefined;
}

export interface Registered {
  readonly driver: Driver;
  readonly hooks: DriverHooks;
  /** In general: as the best of its processes is, or as the last one was. */
  server: DriverStatus["server"];
  reason: string | undefined;
  code: DriverStatus["code"];
  again?: boolean | undefined;
  final?: boolean | undefined;
  /** By contract id; it does not depend on the server. */
  readonly bound: ReadonlyMap<string, BoundTool>;
  problems: readonly Diagnostic[];
  /** Those among them that no look at the server changes. */
  readonly standing: readonly Diagnostic[];
  /** What is wrong with it whatever its server is. */
  readonly broken: boolean;
  /** By its health check only: who happened to start last is not the better one. */
  healthyAt: number | undefined;
  health: DriverStatus["health"];
  /** Why its last health check failed. */
  healthReason?: string | undefined;
  /** Its health check was run, or it has none. */
  healthAsked: boolean;
  /** Of the protocol, as it was negotiated with the server that was looked at last. */
  revision?: string | undefined;
  /** What the server has beside tools, as last seen. */
  prompts: readonly JsonObject[];
  /** What of its declared prompts and resources the server does not have, as last seen. */
  lacks: ReadonlySet<DriverPrompt | DriverResource>;
  /** Servers of it that were looked at; there may be one for each user. */
  readonly checks: Map<Upstream, ServerCheck>;
  /** By process key; those that were needed lately. */
  readonly processes: Map<string, DriverProcess>;
  /** Its live server, which is known to fit, by the ways of whoever registered it. */
  readonly acquire: (who: Acquirer) => Upstream | Promise<Upstream>;
  /** Looks at one that failed before, so that no call has to find out whether it is well. Never fails. */
  readonly lookAgain: (who: Acquirer) => Promise<void>;
}

/** What a look at one server has found. */
export interface Verdict {
  readonly server: "fits" | "refused";
  readonly reason: string | undefined;
  readonly problems: readonly Diagnostic[];
  /** Of the protocol, as it was negotiated. */
  readonly revision: string;
}

export interface ServerCheck {
  check: Promise<Verdict>;
  /** It has been looked at, it fits, and nothing has changed since. */
  fits: boolean;
  /** The last look at it failed. */
  failed: boolean;
  /** What was found last; nothing when nobody could look since. */
  verdict: Verdict | undefined;
  /** Something was found at some time: it had started. */
  seen: boolean;
  readonly stop: () => void;
}

export interface DriverProcess {
  upstream: Upstream | undefined;
  /** How often in a row it did not start, or did not fit. */
  failures: number;
  /** Why it is left alone for a while; after that, that it was. */
  held: ServerStatus | undefined;
  /** Somebody looks whether it is well by now. */
  looking: Promise<void> | undefined;
}

const MOST_PROCESSES = 1_000;
const UNCHECKED: ServerStatus = { server: "unchecked" };

export function keyFor({ driver, hooks }: Registered, context: CallContext): string {
  return processKey(driver, context, hooks);
}

export function processOf({ processes }: Registered, key: string): DriverProcess {
  let process = processes.get(key);
  if (process === undefined) {
    process = { upstream: undefined, failures: 0, held: undefined, looking: undefined };
    const [oldest] = processes.keys();
    if (processes.size >= MOST_PROCESSES && oldest !== undefined) processes.delete(oldest);
    processes.set(key, process);
  }
  return process;
}

/** Of one process, where something is known of it. */
function ownStatus({ checks, processes }: Registered, key: string): ServerStatus | undefined {
  const process = processes.get(key);
  if (process === undefined) return undefined;
  const verdict = process.upstream === undefined ? undefined : checks.get(process.upstream)?.verdict;
  return verdict === undefined ? process.held : { server: verdict.server, reason: verdict.reason };
}

/** For whoever calls: their own process counts, and the others' only as long as they have none. */
export function statusFor(registered: Registered, context: CallContext): ServerStatus {
  return statusOfKey(registered, keyFor(registered, context));
}

export function statusOfKey(registered: Registered, key: string): ServerStatus {
  if (registered.broken) return registered;
  const known = ownStatus(registered, key);
  if (known !== undefined) return known;
  const { server, code, again, final } = registered;
  // That somebody else's process does not start, or lacks a key, says little about this one.
  const own = final !== true && (server === "unreachable" || code !== undefined || again === true);
  return own && isPersonal(registered.driver, registered.hooks) ? UNCHECKED : registered;
}

/** Works out anew how the driver is in general. */
export function judge(registered: Registered): void {
  if (registered.broken) return;
  const verdicts = Array.from(registered.checks.values(), ({ verdict }) => verdict);
  const held = Array.from(registered.processes.values(), (process) => process.held);
  const verdict =
    verdicts.find((one) => one?.server === "fits") ?? verdicts.find((one) => one?.server === "refused");
  const status: ServerStatus =
    (verdict && { server: verdict.server, reason: verdict.reason }) ??
    held.find((one) => one?.server === "refused") ??
    held.find((one) => one?.server === "unreachable") ??
    held.find((one) => one?.code !== undefined || one?.again === true) ??
    // A server that was stopped is as it was.
    (registered.server === "fits" ? registered : UNCHECKED);
  if (verdict !== undefined) {
    registered.problems = [...registered.standing, ...verdict.problems];
    registered.revision = verdict.revision;
  }
  const { server, reason, code, again, final } = status;
  Object.assign(registered, { server, reason, code, again, final });
}
