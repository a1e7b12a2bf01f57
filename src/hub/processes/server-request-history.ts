// Which things of a server ask questions in the middle of a call: learned from the calls that could have been asked.

import type { ServerRequestHandler, Call } from "../../upstream/index.ts";

/** A suspect was in flight when a question came that might have been another's; its next call shows. */
export type Verdict = "unknown" | "quiet" | "suspect" | "asks";

/** One call that may be asked something, from its arrival to its end. */
export interface Running {
  /** What is called. */
  readonly thing: string;
  readonly ask: ServerRequestHandler | undefined;
  readonly callerId: string | undefined;
  readonly account: string | undefined;
  asked: boolean;
  suspected: boolean;
}

/** A server has as many things as it likes, but not all of them are remembered. */
const MAX_THINGS = 2_000;

export class Asking {
  readonly #verdicts = new Map<string, Verdict>();
  readonly #watched = new WeakMap<
    ServerRequestHandler,
    { readonly ask: ServerRequestHandler; readonly calls: Set<Running> }
  >();
  readonly #changed: () => void;

  /** `changed` hears of every new verdict. */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  of(thing: string): Verdict {
    return this.#verdicts.get(thing) ?? "unknown";
  }

  /** Whether calls of it must be kept apart even when that takes another process. */
  isAsker(thing: string): boolean {
    const verdict = this.of(thing);
    return verdict === "asks" || verdict === "suspect";
  }

  /** The `ask` to send the call with: it notices questions, and is the same for all calls that have the same. */
  watch(running: Running): ServerRequestHandler | undefined {
    const { ask } = running;
    if (ask === undefined) return undefined;
    let watched = this.#watched.get(ask);
    if (watched === undefined) {
      const calls = new Set<Running>();
      watched = {
        calls,
        ask: (question) => {
          this.#asked([...calls]);
          return ask(question);
        },
      };
      this.#watched.set(ask, watched);
    }
    watched.calls.add(running);
    return watched.ask;
  }

  /** It certainly asked something. */
  asked(running: Running): void {
    running.asked = true;
    this.#set(running.thing, "asks");
  }

  /**
   * The call is over. One that was not answered says nothing; it is doubtful when a question came meanwhile that may have
   * been this one's or another's.
   */
  over(running: Running, { answered, doubtful }: { answered: boolean; doubtful: boolean }): void {
    const { thing, ask } = running;
    if (ask !== undefined) this.#watched.get(ask)?.calls.delete(running);
    const verdict = this.of(thing);
    if (!answered || running.asked || running.suspected || verdict === "asks") return;
    // Whoever could not be asked is no reason to take more processes.
    if (ask === undefined && (doubtful || verdict !== "unknown")) return;
    this.#set(thing, doubtful ? "suspect" : "quiet");
  }

  #asked(calls: readonly Running[]): void {
    const [only] = calls;
    if (calls.length === 1 && only !== undefined) return this.asked(only);
    // One client made them all, so it is the right one to ask; but which of them asked is not known.
    const likely = calls.filter(({ thing }) => this.of(thing) !== "quiet");
    for (const call of likely.length > 0 ? likely : calls) {
      call.suspected = true;
      if (this.of(call.thing) !== "asks") this.#set(call.thing, "suspect");
    }
  }

  #set(thing: string, verdict: Verdict): void {
    if (this.of(thing) === verdict) return;
    if (this.#verdicts.size >= MAX_THINGS && !this.#verdicts.has(thing)) this.#forgetOne();
    this.#verdicts.set(thing, verdict);
    this.#changed();
  }

  /** What asks is worth remembering longest. */
  #forgetOne(): void {
    let oldest: string | undefined;
    for (const [thing, verdict] of this.#verdicts) {
      oldest ??= thing;
      if (verdict === "asks") continue;
      oldest = thing;
      break;
    }
    if (oldest !== undefined) this.#verdicts.delete(oldest);
  }
}

/** What a call calls, when a server may ask in the middle of it. One that only begins a task is over before that. */
export function thingOf({ method, params }: Call): string | undefined {
  if (params?.task !== undefined) return undefined;
  if (method === "tools/call" || method === "prompts/get") return `${method} ${String(params?.name)}`;
  return method === "resources/read" ? method : undefined;
}
