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
import { explainingLine, tailOf } from "../../process/index.ts";
import { connect, type ConnectTarget } from "../negotiation/connect.ts";
import type { EraMemory } from "../negotiation/era-memory.ts";
import { reportsFailedAccess } from "../failure-hints/failed-access.ts";
import { httpProgramHint } from "../failure-hints/http-programs.ts";
import type { LaunchDiagnostics } from "../failure-hints/launch-diagnostics.ts";
import { isProgramMistake } from "../failure-hints/launch-hints.ts";
import type { Session, SessionOptions } from "./session.ts";
import { timerMs } from "../waiting.ts";

/** The length up to which a line of stderr is part of a message. */
const REASON_CHARS = 200;
/** The part of stderr, and of other text on stdout, that is kept during a start, for its error. */
const STDERR_CHARS = 8_192;

export interface OpenSessionOptions extends Omit<SessionOptions, "signal"> {
  readonly target: ConnectTarget;
  readonly eras: EraMemory;
  readonly explain: LaunchDiagnostics["explain"];
  /** Aborts the start. */
  readonly signal: AbortSignal | undefined;
  /** True to reject when the start timeout passes; the process then ends in the background. False: after the process has ended. */
  readonly rejectsAtTimeout?: boolean;
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
  let noise: string | undefined;
  let stdout = "";
  let stderr = "";
  const session: SessionOptions = {
    ...options,
    signal: start,
    onNoise: (line) => {
      if (isOver) return;
      noise ??= line;
      stdout = `${stdout}${line}\n`.slice(-STDERR_CHARS);
    },
    onStderr: (text) => {
      if (!isOver) stderr = `${stderr}${text}`.slice(-STDERR_CHARS);
      options.onStderr?.(text);
    },
    onLaunch: (news) => {
      if (news.type === "planned") plan = news.plan;
      options.onLaunch?.(news);
    },
  };
  try {
    start.throwIfAborted();
    const opening = connect(reach, session, eras);
    return await (options.rejectsAtTimeout === true ? unlessAborted(opening, tooLate.signal) : opening);
  } catch (thrown) {
    if (signal?.aborted === true)
      throw new PortolanError("CANCELLED", `connecting to ${name} was cancelled`, {
        server: name,
        hint: "No call was sent to the server. Connect again.",
        cause: signal.reason,
      });
    const reason = isPortolanError(start.reason) ? start.reason : thrown;
    throw options.explain(startError(definition, reason, thrown, plan, { noise, stdout, stderr }), startedAt);
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}

/** The session, unless the signal aborts first. A session that opens later is closed. */
function unlessAborted(opening: Promise<Session>, signal: AbortSignal): Promise<Session> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      reject(signal.reason as Error);
      void opening.then((session) => session.close()).catch(() => {});
    };
    signal.addEventListener("abort", abort, { once: true });
    void opening.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
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

const NOISE_HINT =
  "Check that the command is an MCP server. An MCP server writes its messages to stdout, and all other text to stderr.";

/** Turns a crash, a lost connection or a timeout before the server is ready into SERVER_START_FAILED. */
function startError(
  { name, launch }: ServerDefinition,
  reason: unknown,
  thrown: unknown,
  plan: LaunchPlan | undefined,
  printed: { readonly noise: string | undefined; readonly stdout: string; readonly stderr: string },
): PortolanError {
  const error = toPortolanError(reason, { server: name });
  if (error.code !== "SERVER_CRASHED" && error.code !== "CONNECTION_LOST" && error.code !== "TIMEOUT")
    return error;
  const { noise } = printed;
  const stderr =
    error.stderr ??
    (isPortolanError(thrown) ? thrown.stderr : undefined) ??
    (tailOf(printed.stderr) || undefined);
  const exit = { code: error.data.exitCode, signal: error.data.signal };
  const line = error.code === "SERVER_CRASHED" ? explainingLine(stderr ?? "", exit) : undefined;
  // A program that prints other text than messages is probably no MCP server.
  const isNoise = line === undefined && noise !== undefined;
  const noiseText = `it printed ${JSON.stringify(noise)} on stdout, which is no MCP message`;
  const why = isNoise ? noiseText : line?.slice(0, REASON_CHARS);
  const message = why === undefined ? error.message : `${error.message}: ${why}`;
  // A program that ended does not serve its URL.
  const http = error.code === "TIMEOUT" ? httpProgramHint(`${printed.stdout}${stderr ?? ""}`) : undefined;
  const hint = startHint(error, plan, launch, isNoise);
  return new PortolanError("SERVER_START_FAILED", message, {
    server: name,
    stderr,
    data: isNoise ? { ...error.data, stdout: noise } : error.data,
    cause: error,
    hint: http ?? (isNoise ? [NOISE_HINT, hint].filter(Boolean).join(" ") : hint),
  });
}

/** The hint for a failed start. The hint about calls that may have run does not apply, because no call was made. */
function startHint(
  { code, hint, stderr }: PortolanError,
  plan: LaunchPlan | undefined,
  settings: LaunchSettings | undefined,
  isNoise: boolean,
): string | undefined {
  if (code === "SERVER_CRASHED") {
    // A program that prints other text than messages has a reason to fail that is not its sandbox.
    const isExplained = isNoise && !reportsFailedAccess(stderr ?? "");
    return plan === undefined || isExplained || isProgramMistake(stderr)
      ? undefined
      : sandboxHint(plan, settings);
  }
  if (hint !== ERROR_CODES.CONNECTION_LOST.hint) return hint;
  return "Check the URL, and that the server runs and can be reached from here.";
}

/** The hint for a program that ended while starting in a sandbox: how to compare this with a start without a sandbox. */
function sandboxHint(
  { kind, notGranted, sandbox }: LaunchPlan,
  settings: LaunchSettings | undefined,
): string | undefined {
  if (sandbox.backend === "none" || kind === "docker") return undefined;
  // The launch diagnostics explain hidden paths.
  if (notGranted.length > 0) return undefined;
  return `The server runs in a sandbox. To see its grants: portolan why --plan <server>, or portolan why --plan -- <command...>. To test whether the sandbox is the reason, start the server with ${modeWords(settings, "off")}.`;
}
