// Opens one session of a server: installs its program first, limits the time of the start, and explains why a start failed.

import {
  ERROR_CODES,
  isPortolanError,
  PortolanError,
  START_TIMEOUT_HINT,
  toPortolanError,
} from "../../errors/index.ts";
import type { LaunchPlan } from "../../launch/index.ts";
import { type LaunchSettings, modeWords, type ServerDefinition } from "../../model/index.ts";
import { explainingLine } from "../../process/index.ts";
import { connect, type ConnectTarget } from "../negotiation/connect.ts";
import type { EraMemory } from "../negotiation/era-memory.ts";
import { reportsFailedAccess } from "../failure-hints/failed-access.ts";
import type { LaunchDiagnostics } from "../failure-hints/launch-diagnostics.ts";
import type { Session, SessionOptions } from "./session.ts";
import { timerMs } from "../waiting.ts";

/** The length up to which a line of stderr is part of a message. */
const REASON_CHARS = 200;

export interface OpenSessionOptions extends Omit<SessionOptions, "signal"> {
  readonly target: ConnectTarget;
  readonly eras: EraMemory;
  readonly explain: LaunchDiagnostics["explain"];
  /** Aborts the start. */
  readonly signal: AbortSignal | undefined;
}

export async function openSession(options: OpenSessionOptions): Promise<Session> {
  const { definition, target: reach, eras, signal } = options;
  const { name } = definition;
  const { startTimeoutMs } = definition.limits;
  // Installing has its own time limit; the start timeout begins after it.
  await installed(options);
  const startedAt = performance.now();
  const tooLate = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const giveUp = (): void => {
    const person = options.auth?.waitingForPerson?.();
    // A person takes longer than a server: the time begins anew when the login has ended.
    if (person !== undefined) return void person.then(arm, arm);
    const message = `${name} was not ready after ${startTimeoutMs} ms`;
    const data = { startTimeoutMs };
    tooLate.abort(new PortolanError("TIMEOUT", message, { server: name, hint: START_TIMEOUT_HINT, data }));
  };
  let isOver = false;
  const arm = (): void => {
    if (startTimeoutMs !== 0 && !isOver) timer = setTimeout(giveUp, timerMs(startTimeoutMs));
  };
  arm();
  const start = signal === undefined ? tooLate.signal : AbortSignal.any([tooLate.signal, signal]);
  let plan: LaunchPlan | undefined;
  const session: SessionOptions = {
    ...options,
    signal: start,
    onLaunch: (news) => {
      if (news.type === "planned") plan = news.plan;
      options.onLaunch?.(news);
    },
  };
  try {
    start.throwIfAborted();
    return await connect(reach, session, eras);
  } catch (thrown) {
    if (signal?.aborted === true)
      throw new PortolanError("CANCELLED", `connecting to ${name} was cancelled`, {
        server: name,
        cause: signal.reason,
      });
    const reason = isPortolanError(start.reason) ? start.reason : thrown;
    throw options.explain(startError(definition, reason, thrown, plan), startedAt);
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}

async function installed({
  target: reach,
  definition,
  report,
  onLaunch,
  launchContext: context,
  signal,
}: OpenSessionOptions): Promise<void> {
  const endpoint = reach.transport === "stdio" ? reach : "program" in reach ? reach.program : undefined;
  if (endpoint === undefined) return;
  const { name: server, launch: settings } = definition;
  const { install } = await import("../../launch/index.ts");
  await install({
    ...{ server, endpoint, settings, report, onLaunch, context },
    signal: signal ?? new AbortController().signal,
  });
}

/** Turns a crash, a lost connection or a timeout before the server is ready into SERVER_START_FAILED. */
function startError(
  { name, launch }: ServerDefinition,
  reason: unknown,
  thrown: unknown,
  plan: LaunchPlan | undefined,
): PortolanError {
  const error = toPortolanError(reason, { server: name });
  if (error.code !== "SERVER_CRASHED" && error.code !== "CONNECTION_LOST" && error.code !== "TIMEOUT")
    return error;
  const stderr = error.stderr ?? (isPortolanError(thrown) ? thrown.stderr : undefined);
  const exit = { code: error.data.exitCode, signal: error.data.signal };
  const line = error.code === "SERVER_CRASHED" ? explainingLine(stderr ?? "", exit) : undefined;
  const message = line === undefined ? error.message : `${error.message}: ${line.slice(0, REASON_CHARS)}`;
  return new PortolanError("SERVER_START_FAILED", message, {
    server: name,
    stderr,
    data: error.data,
    cause: error,
    hint: startHint(error, plan, launch),
  });
}
/** The hint for a failed start. The hint about calls that may have run does not apply, because no call was made. */
function startHint(
  { code, hint, stderr }: PortolanError,
  plan: LaunchPlan | undefined,
  settings: LaunchSettings | undefined,
): string | undefined {
  if (code === "SERVER_CRASHED")
    return plan === undefined ? undefined : boxHint(plan, settings, stderr ?? "");
  if (hint !== ERROR_CODES.CONNECTION_LOST.hint) return hint;
  return "Check the URL, and that the server runs and can be reached from here.";
}

/** The hint for a program that ended while starting in a sandbox, if its stderr reports an access that failed. */
function boxHint(
  { notGranted, sandbox }: LaunchPlan,
  settings: LaunchSettings | undefined,
  stderr: string,
): string | undefined {
  if (sandbox.backend === "none" || !reportsFailedAccess(stderr)) return undefined;
  // The launch diagnostics explain hidden paths.
  if (notGranted.length > 0) return undefined;
  return `The server runs in a sandbox. To see its grants: portolan why --plan <server>, or portolan why --plan -- <command...>. To test whether the sandbox is the reason, start the server with ${modeWords(settings, "off")}.`;
}
