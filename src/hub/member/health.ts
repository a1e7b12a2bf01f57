// Health of each server of a hub, as plain data.

import type { Contracts } from "../../contracts/index.ts";
import { ERROR_CODES, type ErrorCode, type PortolanError, SLOW_SERVER_HINT } from "../../errors/index.ts";
import { definedOnly, filled } from "../../formats/manifest/index.ts";
import type { LaunchPlan } from "../../launch/index.ts";
import type { Era, Origin, SandboxBackendName, SandboxMode } from "../../model/index.ts";
import { type PinHealth, pinHealth } from "../pins/pin-report.ts";
import type { Member, ServerState } from "./member.ts";
import { isAllowedTool } from "../views/naming.ts";

/** The state of one server of a workspace, as `portolan status` shows it. */
export interface ServerHealth {
  readonly alias: string;
  readonly state: ServerState;
  /** True while Portolan starts a server again that is `failed` or `blocked`; absent otherwise. */
  readonly retrying?: true;
  /** ISO time of the last change of state. For a server that fails and is started again: of its first failure. */
  readonly since: string;
  readonly origin: Origin;
  readonly transport: string;
  readonly era?: Era;
  readonly revision?: string;
  /** The number of tools that are offered. */
  readonly tools: number;
  /** The number of tools that are withheld, because nobody approved their definition; absent if there are none. */
  readonly withheld?: number;
  /** The comparison with the lock file; absent if nothing is compared. */
  readonly pins?: PinHealth;
  /**
   * Of the server that has all contracts: the contracts whose drivers are all unreachable or refused, for which `healthCheck()` is
   * false; absent if there are none. The server itself is `ready` all the same.
   */
  readonly unserved?: readonly string[];
  readonly latencyMs?: number;
  readonly restarts: number;
  /** Number of dedicated processes and sessions beside the main one; absent when there are none. */
  readonly dedicatedProcesses?: number;
  /** The sandbox of its program; absent before its first start. */
  readonly sandbox?:
    | {
        readonly mode: SandboxMode;
        readonly backend: SandboxBackendName;
        readonly by: string;
        /** Paths of the server's own program and working folder, which it can read without a grant. Absent without a sandbox. */
        readonly ownPaths?: readonly string[];
        /** Files in these folders that the sandbox hides, because they may contain secrets; absent if there are none. */
        readonly hiddenFiles?: readonly string[];
      }
    | undefined;
  /** The program that was started last: a path of this machine, a package with version and hash, or an image. */
  readonly program?: string;
  /** Why the server is not up. The error of a server that is `ready` says that it did not answer the last health check. */
  readonly error?: {
    readonly code: ErrorCode;
    readonly message: string;
    readonly hint: string;
    /** Facts for programs, as in `PortolanError.data`; absent if there are none. */
    readonly data?: Readonly<Record<string, unknown>>;
  };
  /**
   * Set if the new process of a changed config or a restart could not start, so that the server runs with the earlier process. The
   * message says which, and why. `change` is `config` if the config files have another config than the one in use, and `secrets` if
   * the server runs with secrets that Portolan could not read again at the last reload.
   */
  readonly failedReplacement?: {
    readonly change: "config" | "restart" | "secrets";
    readonly code: ErrorCode;
    readonly message: string;
    readonly hint: string;
  };
  /** The package that Portolan installs for the server, such as `installing weather@^2`, and the start of the installation (ISO time). */
  readonly installing?: { readonly what: string; readonly since: string };
  /** The last lines of stderr since the last start. While a failed server is started again without output: of the failed start. */
  readonly stderr?: string;
}

export function healthOf(member: Member): ServerHealth {
  const { alias, since, config, inventory, retriedState } = member;
  // A server that cannot start would otherwise change between "failed" and "starting" with every attempt.
  const state = retriedState ?? member.state;
  const { description, plan, restarts, dedicatedCount, installing } = member.processes;
  const { stderr } = member.lastError;
  const { latencyMs, failedReplacement } = member;
  const failing = state !== "ready" && state !== "idle";
  // A stdio server that does not answer the health check can be busy, and stays ready.
  const silent = state === "ready" ? member.probeError : undefined;
  const lastError = failing ? member.lastError.error : silent;
  const allowed = inventory.tools.filter(({ name }) => isAllowedTool(config, name));
  const withheld = allowed.filter(({ name }) => member.pins.isWithheld(name)).length;
  const unserved = unservedContracts(member);
  return definedOnly<ServerHealth>({
    alias,
    state,
    retrying: retriedState === undefined ? undefined : true,
    since: since.toISOString(),
    origin: config.origin,
    transport: description?.transport ?? config.endpoint.transport,
    era: description?.era,
    revision: description?.revision,
    tools: allowed.length - withheld,
    withheld: withheld === 0 ? undefined : withheld,
    pins: pinHealth(alias, member.pins.state),
    unserved: unserved.length === 0 ? undefined : unserved,
    latencyMs: latencyMs === undefined ? undefined : Math.round(latencyMs * 10) / 10,
    restarts,
    sandbox: plan && {
      ...{ mode: plan.sandbox.mode, backend: plan.sandbox.backend, by: plan.sandbox.by },
      ...ownPathsOf(plan),
    },
    program: plan?.source,
    dedicatedProcesses: dedicatedCount === 0 ? undefined : dedicatedCount,
    error:
      lastError === undefined
        ? undefined
        : {
            code: lastError.code,
            message: silent?.message ?? member.lastError.reason().reason ?? lastError.message,
            hint: serverHint(member, lastError),
            data: filled(lastError.data),
          },
    failedReplacement: failedReplacement && {
      change: failedReplacement.change,
      code: failedReplacement.code,
      message: failedReplacement.message,
      hint: failedReplacement.hint,
    },
    installing: installing && { what: installing.what, since: installing.since.toISOString() },
    stderr: stderr || (failing ? lastError?.stderr : undefined) || undefined,
  });
}

/** Why the policy shows or hides a path without a grant. Files and folders of the system are not among them. */
const OWN_REASONS: ReadonlySet<string> = new Set(["own", "workspace", "cwd"]);
const HIDDEN_REASONS: ReadonlySet<string> = new Set(["env file", "secret file"]);

function ownPathsOf({
  sandbox: { backend, policy },
}: LaunchPlan): Pick<NonNullable<ServerHealth["sandbox"]>, "ownPaths" | "hiddenFiles"> {
  // An image has its program in itself.
  if (backend === "none" || backend === "docker") return {};
  const paths = (reasons: ReadonlySet<string>): string[] =>
    policy.mounts.filter(({ reason }) => reasons.has(reason)).map(({ path }) => path);
  return { ownPaths: paths(OWN_REASONS), hiddenFiles: filled(paths(HIDDEN_REASONS)) };
}

/** Their usual hint is about the call that was running. */
const OF_INTERRUPTED_CALLS: ReadonlySet<ErrorCode> = new Set([
  "CONNECTION_LOST",
  "SERVER_CRASHED",
  "TIMEOUT",
]);

/** The hint of a lost server is about the call that it interrupted. Its health says when it is started again instead. */
export function serverHint(
  { alias, config, state, unavailable, user, isOfProgram }: Member,
  { code, hint }: PortolanError,
): string {
  const ofCall = ERROR_CODES[code].hint;
  if (!OF_INTERRUPTED_CALLS.has(code) || !hint.startsWith(ofCall)) return hint;
  // A timeout of a call does not apply to the ping that got no answer.
  const parts = [hint.slice(ofCall.length).replace(SLOW_SERVER_HINT, "").trim()];
  if (state === "ready" && !isOfProgram)
    parts.push(`The server may be busy. If it stays silent, start a new process: portolan restart ${alias}`);
  const ms = unavailable?.data.retryAfterMs;
  const seconds = typeof ms === "number" ? Math.max(1, Math.ceil(ms / 1_000)) : undefined;
  if (seconds !== undefined)
    parts.push(
      // Portolan itself starts only eager servers again, and not those of a caller.
      config.start === "lazy" || user !== undefined
        ? `A call starts the server again, ${seconds} s from now at the earliest.`
        : `Portolan tries to start the server again in ${seconds} s.`,
    );
  else if (state === "reconnecting" && code === "TIMEOUT" && config.endpoint.transport === "stdio")
    parts.push(
      `If it stays silent, Portolan starts a new process.${isOfProgram ? "" : ` To start one now: portolan restart ${alias}`}`,
    );
  else if (state === "reconnecting") {
    const { endpoint } = config;
    const hasProgram =
      endpoint.transport === "stdio" || ("program" in endpoint && endpoint.program !== undefined);
    parts.push(
      hasProgram ? "Portolan is starting the server again." : "Portolan tries to reach the server again.",
    );
  }
  // `portolan logs` shows the servers of gateways.
  const place = isOfProgram ? "the field stderr in workspace.health()" : `portolan logs ${alias}`;
  if (code === "SERVER_CRASHED") parts.push(`See the output of the server: ${place}`);
  return parts.filter((part) => part !== "").join(" ");
}

/** True until the first start of the server has succeeded or failed. */
export function isFirstStart({ state, wasReady, isDown }: Member): boolean {
  return state === "starting" && !wasReady && !isDown;
}

/** True when the server runs, is idle, or is disabled. */
export function isUp({ state }: Member): boolean {
  return state === "ready" || state === "idle" || state === "disabled";
}

/**
 * The contracts whose drivers are all unreachable or refused; none for other servers. Drivers that wait for a login are neither.
 * A contract that no driver names is not among them.
 */
export function unservedContracts({ config, state, processes }: Member): readonly string[] {
  if (config.endpoint.transport !== "contracts" || state !== "ready") return [];
  const reports = (processes.handle?.upstream as Contracts | undefined)?.status() ?? [];
  const usable = reports.filter(({ server }) => server !== "unreachable" && server !== "refused");
  const served = new Set(usable.flatMap(({ contracts }) => contracts));
  const known = new Set(reports.flatMap(({ contracts }) => contracts));
  return [...known].filter((id) => !served.has(id)).toSorted();
}
