// Types of one invocation: the call that runs, the runner that carries it out, and its outcome.

import type { JsonObject } from "../model/index.ts";
import type { Call } from "../upstream/index.ts";

/** One call, after its arguments were checked. */
export interface Run {
  readonly args: JsonObject;
  /** Headers of the client's own request. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The caller of a gateway, if any. */
  readonly caller?: Call["caller"];
  readonly signal: AbortSignal;
  /** Reports progress; the text is for people. */
  readonly progress: (message: string) => void;
}

export interface Outcome {
  /** The reason of a failure, for people; undefined after success. */
  readonly failure?: string;
  /** The failure means that the resource does not exist. */
  readonly notFound?: boolean;
  /** The body of the response, or the stdout of the command. */
  readonly bytes: Buffer;
  /** The media type of the bytes, as declared by the other side. */
  readonly contentType?: string;
  /** The output was longer than its limit, and its middle is missing. */
  readonly cut?: boolean;
  readonly stderr?: string;
  /** Notes for the caller beside the output. */
  readonly notes?: readonly string[];
  readonly meta?: JsonObject;
}

export interface Runner {
  /** Throws an ArgumentError for arguments that must not be used, and the reason of the signal when it is aborted. */
  run(run: Run): Promise<Outcome>;
}
