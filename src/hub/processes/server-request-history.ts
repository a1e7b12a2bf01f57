// Server request history: learns which tools of a server send requests to their client during a call.

import { removeFrom } from "../../base/collections/in-flight-list.ts";
import type { Call, ServerRequestHandler } from "../../upstream/index.ts";

/** `suspect`: a server request came that may belong to this call or to another one, which the next call will show. */
export type Verdict = "unknown" | "never" | "suspect" | "sends";

/** One call during which the server may send requests, from its arrival to its end. */
export interface PlacedCall {
  /** The method and the name of the tool or prompt. */
  readonly target: string;
  readonly handler: ServerRequestHandler | undefined;
  readonly callerId: string | undefined;
  readonly account: string | undefined;
  hasRequest: boolean;
  isSuspect: boolean;
}

/** The number of targets that are remembered. */
const MAX_TARGETS = 2_000;

export class ServerRequestHistory {
  readonly #verdicts = new Map<string, Verdict>();
  readonly #watched = new WeakMap<
    ServerRequestHandler,
    { readonly handler: ServerRequestHandler; readonly calls: PlacedCall[] }
  >();
  readonly #changed: () => void;

  /** `changed` is called after every new verdict. */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  of(target: string): Verdict {
    return this.#verdicts.get(target) ?? "unknown";
  }

  /** True when its calls must be kept apart even if that takes another process. */
  needsIsolation(target: string): boolean {
    const verdict = this.of(target);
    return verdict === "sends" || verdict === "suspect";
  }

  /** The handler to send the call with, which records server requests. Calls with the same handler get the same one. */
  watch(call: PlacedCall): ServerRequestHandler | undefined {
    const { handler } = call;
    if (handler === undefined) return undefined;
    let watched = this.#watched.get(handler);
    if (watched === undefined) {
      const calls: PlacedCall[] = [];
      watched = {
        calls,
        handler: (request) => {
          this.#requested([...calls]);
          return handler(request);
        },
      };
      this.#watched.set(handler, watched);
    }
    watched.calls.push(call);
    return watched.handler;
  }

  /** The call certainly caused a server request. */
  requested(call: PlacedCall): void {
    call.hasRequest = true;
    this.#set(call.target, "sends");
  }

  /**
   * The call ended. A call without a response shows nothing. It is doubtful when a server request came meanwhile that may
   * have belonged to this call or to another one.
   */
  ended(call: PlacedCall, { isAnswered, isDoubtful }: { isAnswered: boolean; isDoubtful: boolean }): void {
    const { target, handler } = call;
    if (handler !== undefined) this.#unwatch(handler, call);
    const verdict = this.of(target);
    if (!isAnswered || call.hasRequest || call.isSuspect || verdict === "sends") return;
    // A call without a handler is no reason to start more processes.
    if (handler === undefined && (isDoubtful || verdict !== "unknown")) return;
    this.#set(target, isDoubtful ? "suspect" : "never");
  }

  #unwatch(handler: ServerRequestHandler, call: PlacedCall): void {
    const watched = this.#watched.get(handler);
    if (watched === undefined) return;
    removeFrom(watched.calls, call);
    // A minor garbage collection takes the value of an entry for used, even if nothing uses the key any more.
    if (watched.calls.length === 0) this.#watched.delete(handler);
  }

  #requested(calls: readonly PlacedCall[]): void {
    const [only] = calls;
    if (calls.length === 1 && only !== undefined) return this.requested(only);
    // One client made all these calls, so it is the right one to answer, but it is unknown which call was the cause.
    const likely = calls.filter(({ target }) => this.of(target) !== "never");
    for (const call of likely.length > 0 ? likely : calls) {
      call.isSuspect = true;
      if (this.of(call.target) !== "sends") this.#set(call.target, "suspect");
    }
  }

  #set(target: string, verdict: Verdict): void {
    if (this.of(target) === verdict) return;
    if (this.#verdicts.size >= MAX_TARGETS && !this.#verdicts.has(target)) this.#forgetOne();
    this.#verdicts.set(target, verdict);
    this.#changed();
  }

  /** Forgets the oldest target, preferably one that does not send requests. */
  #forgetOne(): void {
    let oldest: string | undefined;
    for (const [target, verdict] of this.#verdicts) {
      oldest ??= target;
      if (verdict === "sends") continue;
      oldest = target;
      break;
    }
    if (oldest !== undefined) this.#verdicts.delete(oldest);
  }
}

/** The target of a call during which the server may send requests. A call that only creates a task ends before that. */
export function targetOf({ method, params }: Call): string | undefined {
  if (params?.task !== undefined) return undefined;
  if (method === "tools/call" || method === "prompts/get") return `${method} ${String(params?.name)}`;
  return method === "resources/read" ? method : undefined;
}
