// Parses what callers send. Bounds are checked before anything is parsed, and large messages are parsed one per turn of the
// event loop, callers taking turns, so that no caller keeps the others waiting.

import { type JsonBound, type JsonBounds, JsonScanner, RPC } from "../../model/index.ts";

export interface Problem {
  readonly code: number;
  readonly message: string;
}

export type Parsed = { readonly value: unknown } | { readonly problem: Problem };

/** Checks a message as it arrives. Says why it must not be parsed, if so. */
export interface MessageCheck {
  readonly weight: number;
  push(bytes: Buffer): Problem | undefined;
}

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

  /** For a message that arrives in parts: what must not be parsed need not be received either. */
  check(): MessageCheck {
    const scanner = new JsonScanner(this.#bounds);
    return {
      get weight() {
        return scanner.weight;
      },
      push: (bytes) => this.#problem(scanner.push(bytes)),
    };
  }

  /**
   * Calls back once, in the order of the caller's messages: at once if the message is small and no other waits. `weight` is that of
   * a message that was checked while it arrived.
   */
  parse(caller: string, bytes: Buffer, done: (parsed: Parsed) => void, weight?: number): void {
    if (bytes.length <= SMALL_BYTES && !this.#waiting.has(caller)) {
      const check = weight === undefined ? this.check() : undefined;
      const problem = check?.push(bytes);
      if (problem !== undefined) return done({ problem });
      if ((check ?? { weight: weight ?? 0 }).weight <= SMALL_WEIGHT) return done(parse(bytes));
    }
    const step: Step = () => {
      const problem = weight === undefined ? this.check().push(bytes) : undefined;
      const parsed = problem === undefined ? parse(bytes) : { problem };
      // The call is dispatched in a turn of its own: passing it on takes about as long as parsing it.
      return () => {
        done(parsed);
        return undefined;
      };
    };
    const steps = this.#waiting.get(caller);
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

  #problem(passed: JsonBound | undefined): Problem | undefined {
    if (passed === undefined) return undefined;
    const { depth, weight } = this.#bounds;
    const message =
      passed === "depth"
        ? `The message is nested deeper than ${depth} levels`
        : `The message holds too many values: more than ${Math.floor(weight / 3)} object members, or ${weight} array items`;
    return { code: RPC.INVALID_REQUEST, message };
  }
}

function parse(bytes: Buffer): Parsed {
  try {
    return { value: JSON.parse(bytes.toString("utf8")) };
  } catch {
    return { problem: { code: RPC.PARSE_ERROR, message: "The message is not JSON" } };
  }
}
