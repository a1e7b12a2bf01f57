// Intake: parses messages of callers without blocking other callers. Size and depth are checked before parsing. Large messages
// are parsed one per event loop iteration, round-robin over the callers.

import { type JsonBound, type JsonBounds, JsonScanner, RPC, type RpcErrorObject } from "../../model/index.ts";

export type Parsed = { readonly value: unknown } | { readonly error: RpcErrorObject };

/** Checks a message while it arrives. */
export class MessageCheck {
  readonly #bounds: JsonBounds;
  readonly #scanner: JsonScanner;

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
    this.#scanner = new JsonScanner(bounds);
  }

  get weight(): number {
    return this.#scanner.weight;
  }

  /** Returns an error for a message that must not be parsed. */
  push(bytes: Buffer): RpcErrorObject | undefined {
    const exceeded = this.#scanner.push(bytes);
    return exceeded === undefined ? undefined : exceededError(exceeded, this.#bounds);
  }
}

/** A step of work; it returns the next step. */
type Step = () => Step | undefined;

/** Most messages in one batch. */
export const MAX_BATCH = 100;
const MAX_DEPTH = 128;
/** About 33,000 object members or 100,000 array items, which take less than 50 ms to parse and as much to forward. */
const MAX_WEIGHT = 100_000;
/** The message size that `MAX_WEIGHT` is for. A gateway with a larger limit accepts proportionally more structure. */
const USUAL_BYTES = 4 * 1024 * 1024;
/** Messages within both bounds are parsed immediately. */
const SMALL_BYTES = 64 * 1024;
const SMALL_WEIGHT = 2_000;

export class Intake {
  readonly #maxMessageBytes: () => number;
  /** Waiting steps per caller; the first caller is next. */
  readonly #waiting = new Map<string, Step[]>();
  #scheduled = false;

  constructor(maxMessageBytes: () => number) {
    this.#maxMessageBytes = maxMessageBytes;
  }

  get #bounds(): JsonBounds {
    const weight = Math.round(MAX_WEIGHT * Math.max(1, this.#maxMessageBytes() / USUAL_BYTES));
    return { depth: MAX_DEPTH, weight };
  }

  /** Check of a message that arrives in parts, so that a message that must not be parsed is not received either. */
  check(): MessageCheck {
    return new MessageCheck(this.#bounds);
  }

  /**
   * Calls back once, in the order of the caller's messages; immediately if the message is small and no other one waits. `weight` is
   * the result of a check while the message arrived.
   */
  parse(caller: string, bytes: Buffer, done: (parsed: Parsed) => void, weight?: number): void {
    if (bytes.length <= SMALL_BYTES && !this.#waiting.has(caller)) {
      const check = weight === undefined ? this.check() : undefined;
      const error = check?.push(bytes);
      if (error !== undefined) return done({ error });
      if ((check ?? { weight: weight ?? 0 }).weight <= SMALL_WEIGHT) return done(parse(bytes));
    }
    const step: Step = () => {
      const error = weight === undefined ? this.check().push(bytes) : undefined;
      const parsed = error === undefined ? parse(bytes) : { error };
      // The call is dispatched in a separate iteration, because forwarding it takes about as long as parsing it.
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
}

function exceededError(exceeded: JsonBound, { depth, weight }: JsonBounds): RpcErrorObject {
  const message =
    exceeded === "depth"
      ? `The message is nested deeper than ${depth} levels`
      : `The message contains too many values: more than ${Math.floor(weight / 3)} object members, or ${weight} array items`;
  return { code: RPC.INVALID_REQUEST, message };
}

function parse(bytes: Buffer): Parsed {
  try {
    return { value: JSON.parse(bytes.toString("utf8")) };
  } catch {
    return { error: { code: RPC.PARSE_ERROR, message: "The message is not JSON" } };
  }
}
