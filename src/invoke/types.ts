// What carries out one tool, prompt or resource, and what came of it.

import type { JsonObject } from "../model/index.ts";

/** One call, after its arguments were checked. */
export interface Run {
  readonly args: JsonObject;
  /** Headers of the client's own request. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly signal: AbortSignal;
  /** Hears that the work goes on; the text is for people. */
  readonly progress: (message: string) => void;
}

export interface Outcome {
  /** Why it failed, for a person; undefined when it did not. */
  readonly failure?: string | undefined;
  /** What the failing side is known to mean by it. */
  readonly notFound?: boolean | undefined;
  /** The body of the response, or what was written to stdout. */
  readonly bytes: Buffer;
  /** What the other side says the bytes are. */
  readonly contentType?: string | undefined;
  /** Something was left out of the bytes. */
  readonly cut?: boolean | undefined;
  readonly stderr?: string | undefined;
  /** Notes for the caller beside the output. */
  readonly notes?: readonly string[] | undefined;
  readonly meta?: JsonObject | undefined;
}

export interface Runner {
  /** Throws a Refusal when the arguments cannot be used, and what the signal says when it is aborted. */
  run(run: Run): Promise<Outcome>;
}
