// Waits for the decision about one call: with progress for its client, an elicitation if its rule allows one, and an end.

import { shellWord } from "../../base/text/command-line.ts";
import { elicitApproval } from "../../hub/index.ts";
import type { ApprovalWay } from "../../model/index.ts";
import type { Call, ServerRequestHandler } from "../../upstream/index.ts";
import type { Outcome } from "./outcome.ts";

export interface WaitOptions {
  readonly id: string;
  readonly tool: string;
  /** The folder of the workspace; undefined for a workspace without one. */
  readonly folder: string | undefined;
  readonly call: Pick<Call, "signal" | "onProgress" | "onWaiting">;
  readonly by: readonly ApprovalWay[];
  /** The ways of `by` in which a person can decide now: the console, the terminal, or both. */
  readonly places: readonly ApprovalWay[];
  /** Lets the program that embeds the gateway decide. Resolves to false if it leaves the decision to others. */
  readonly program: ((signal: AbortSignal) => Promise<boolean>) | undefined;
  /** Asks the client of the call; undefined if the rule does not allow it, or the client cannot be asked. */
  readonly ask: ServerRequestHandler | undefined;
  /** True if a person can decide in the console or in the terminal. */
  readonly hasPerson: boolean;
  /** True for a call that runs if the client cannot be asked. */
  readonly mayRunUnattended: boolean;
  readonly message: string;
  readonly untilMs: number;
  /** Gets the function that ends the wait. */
  readonly onSettle: (settle: (outcome: Outcome) => void) => void;
  /** Records the answer of the client. */
  readonly decide: (approve: boolean) => Promise<unknown>;
  readonly expire: () => Promise<void>;
  /** The client has gone. */
  readonly withdraw: () => Promise<void>;
}

/** Clients that reset their timeout with progress usually wait a minute. */
const PROGRESS_MS = 10_000;
/** Smaller than the progress that the server itself reports later, because progress must increase. */
const PROGRESS_STEP = 1e-6;
/** Less than the time after which common clients give up. */
const WAITING_MS = 40_000;
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Rejects with the reason of the signal when the client cancels the call. */
export async function waitForDecision(options: WaitOptions): Promise<Outcome> {
  const { id, call, untilMs } = options;
  const { signal, onProgress, onWaiting } = call;
  const ended = new AbortController();
  // The client runs in another folder.
  const inFolder = options.folder === undefined ? "" : ` -w ${shellWord(options.folder)}`;
  const ways = [
    ...(options.places.includes("console") ? ["in the console"] : []),
    ...(options.places.includes("terminal") ? [`with the command portolan approve ${id}${inFolder}`] : []),
  ];
  const message = `The call waits for approval${ways.length === 0 ? "" : `. A person can approve it ${ways.join(", or ")}`}`;
  let steps = 0;
  const report = (): void => onProgress?.({ progress: (steps += 1) * PROGRESS_STEP, message });
  const progress = onProgress && setInterval(report, PROGRESS_MS).unref();
  const waiting = onWaiting && setInterval(onWaiting, WAITING_MS).unref();
  let timer: NodeJS.Timeout | undefined;
  let onAbort = (): void => {};
  try {
    signal?.throwIfAborted();
    report();
    return await new Promise<Outcome>((resolve, reject) => {
      options.onSettle(resolve);
      timer = setTimeout(
        () => {
          options.expire().then(() => resolve({ kind: "expired", afterMs: untilMs }), reject);
        },
        Math.min(Math.max(untilMs, 0), MAX_TIMER_MS),
      );
      onAbort = () => reject(signal?.reason as Error);
      signal?.addEventListener("abort", onAbort, { once: true });
      decideAtOnce(options, ended.signal, resolve).catch(reject);
    });
  } catch (error) {
    if (signal?.aborted === true) await options.withdraw();
    throw error;
  } finally {
    clearInterval(progress);
    clearInterval(waiting);
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
    // An elicitation that is still open is cancelled.
    ended.abort();
  }
}

/** First the program decides, then the client; a person elsewhere may be faster. */
async function decideAtOnce(
  options: WaitOptions,
  ended: AbortSignal,
  resolve: (outcome: Outcome) => void,
): Promise<void> {
  const { program, ask, by, hasPerson, mayRunUnattended } = options;
  if (program !== undefined && (await program(ended))) return;
  if (ended.aborted) return;
  if (ask !== undefined) await elicit(options, ask, ended, resolve);
  else if (!hasPerson || mayRunUnattended)
    resolve({ kind: "unavailable", by, isLeft: program !== undefined });
}

async function elicit(
  { tool, message, by, hasPerson, mayRunUnattended, decide }: WaitOptions,
  ask: ServerRequestHandler,
  ended: AbortSignal,
  resolve: (outcome: Outcome) => void,
): Promise<void> {
  const answer = await elicitApproval(ask, tool, message, ended).catch(() => undefined);
  if (ended.aborted) return;
  if (typeof answer === "boolean") {
    // A person elsewhere may have decided at the same time, and that decision counts.
    await decide(answer).catch((error: unknown) => {
      if (!ended.aborted) throw error;
    });
  } else if (!hasPerson || (mayRunUnattended && answer === undefined))
    resolve(answer === undefined ? { kind: "unavailable", by } : { kind: "denied", by: "caller" });
}
