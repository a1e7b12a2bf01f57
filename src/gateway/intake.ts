// Parses what callers send. Bounds are checked before anything is parsed, and large messages are parsed one per turn of the
// event loop, callers taking turns, so that no caller keeps the others waiting.

import { type JsonBounds, RPC, scanJson } from "../model/index.ts";

export type Parsed =
  | { readonly value: unknown }
  | { readonly problem: { readonly code: number; readonly message: string } };

/** A step of work, and the step that follows it. */
type Step = () => Step | undefined;

/** The largest batch that is taken. */
export const MAX_BATCH = 100;
const MAX_DEPTH = 128;
/** Parsed in less than 50 ms, and passed on in as much: about 33,000 object members, or 100,000 array items. */
const MAX_WEIGHT = 100_000;
/** The message size that `MAX_WEIGHT` is for; a gateway that takes larger messages takes more structure in proportion. */
const USUAL_BYTES = 4 * 1024 * 1024;
/** Messages within both bounds are parsed at once. */
const SMALL_BYTES = 64 * 1024;
const SMALL_WEIGHT = 2_000;

export class Intake {
  readonly #bounds: JsonBounds;
  /** The next caller first. */
  readonly #waiting = new Map<string, Step[]>();
  #scheduled = false;

  constructor(maxMessageBytes: number) {
    const weight = Math.round(MAX_WEIGHT * Math.max(1, maxMessageBytes / USUAL_BYTES));
    this.#bounds = { depth: MAX_DEPTH, weight };
  }

  /** Calls back once, in the order of the caller's messages: at once if the message is small and no other waits. */
  parse(caller: string, bytes: Buffer, done: (parsed: Parsed) => void): void {
    if (bytes.length <= SMALL_BYTES && !this.#waiting.has(caller)) {
      const { weight, passed } = scanJson(bytes, this.#bounds);
      if (passed !== undefined || weight <= SMALL_WEIGHT) return done(this.#parsed(bytes, passed));
    }
    const steps = this.#waiting.get(caller);
    const step: Step = () => {
      const parsed = this.#parsed(bytes, scanJson(bytes, this.#bounds).passed);
      // The call is dispatched in a turn of its own: passing it on takes about as long as parsing it.
      return () => {
        done(parsed);
        return undefined;
      };
    };
    if (steps === undefined) this.#waiting.set(caller, [step]);
    else steps.push(step);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.size === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      try {
        this.#run();
      } finally {
        this.#schedule();
      }
    });
  }

  #run(): void {
    const [caller, steps] = this.#waiting.entries().next().value as [string, Step[]];
    const step = steps.shift() as Step;
    let next: Step | undefined;
    try {
      next = step();
    } finally {
      if (next !== undefined) steps.unshift(next);
      this.#waiting.delete(caller);
      if (steps.length > 0) this.#waiting.set(caller, steps);
    }
  }

  #parsed(bytes: Buffer, passed: "depth" | "weight" | undefined): Parsed {
    if (passed === "depth")
      return refused(RPC.INVALID_REQUEST, `The message is nested deeper than ${this.#bounds.depth} levels`);
    if (passed === "weight")
      return refused(
        RPC.INVALID_REQUEST,
        `The message holds too many values: more than ${Math.floor(this.#bounds.weight / 3)} object members, or ${this.#bounds.weight} array items`,
      );
    try {
      return { value: JSON.parse(bytes.toString("utf8")) };
    } catch {
      return refused(RPC.PARSE_ERROR, "The message is not JSON");
    }
  }
}

function refused(code: number, message: string): Parsed {
  return { problem: { code, message } };
}
