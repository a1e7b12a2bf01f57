// The body of a request, whole, within the limits of the gateway and of its caller.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Gate, Refusal } from "../access/access-control.ts";
import type { MessageCheck } from "../common/intake.ts";

export type Body =
  | {
      readonly bytes: Buffer;
      /** Bytes that count against the caller's limit until the request is finished. */
      readonly held: number;
    }
  | { readonly refusal: Refusal };

export interface BodyLimits {
  readonly maxBytes: number;
  readonly gate: Gate;
  readonly check: MessageCheck;
}

const EMPTY: Buffer = Buffer.alloc(0);
/** Counted for every request beside its body: what its connection and its call need. */
const OVERHEAD_BYTES = 4 * 1024;

/** Whether the rest of the request's body has yet to be read. */
export function isUnread({ complete, headers }: IncomingMessage): boolean {
  return (
    !complete && (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0)
  );
}

/** Calls back once: with the bytes, or with why they are not read. A request that breaks off never does. */
export function readBody(
  response: ServerResponse,
  { maxBytes, gate, check }: BodyLimits,
  done: (body: Body) => void,
): void {
  const { req: request } = response;
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > maxBytes) return done({ refusal: tooLarge(maxBytes) });
  let held = declared + OVERHEAD_BYTES;
  const refusal = gate.hold(held);
  if (refusal !== undefined) return done({ refusal });
  let whole = EMPTY;
  let length = 0;
  const stop = (refused?: Refusal): void => {
    request.off("data", take);
    request.off("end", end);
    request.off("close", broken);
    whole = EMPTY;
    gate.release(held);
    if (refused === undefined) return;
    request.pause();
    done({ refusal: refused });
  };
  const take = (chunk: Buffer): void => {
    const needed = length + chunk.length;
    if (needed > maxBytes) return stop(tooLarge(maxBytes));
    const problem = check.push(chunk);
    if (problem !== undefined) return stop(badStructure(problem.message));
    const more = needed + OVERHEAD_BYTES - held;
    if (more > 0) {
      const refused = gate.hold(more);
      if (refused !== undefined) return stop(refused);
      held += more;
    }
    if (length === 0) whole = chunk;
    else {
      // One buffer that doubles: a list of many tiny chunks would take far more memory than their bytes.
      if (needed > whole.length) {
        const larger = Buffer.allocUnsafe(Math.max(declared, needed, Math.min(maxBytes, 2 * whole.length)));
        whole.copy(larger, 0, 0, length);
        whole = larger;
      }
      chunk.copy(whole, length);
    }
    length = needed;
  };
  const end = (): void => {
    request.off("close", broken);
    const bytes = length === whole.length ? whole : whole.subarray(0, length);
    // The request is kept for a while by its connection; its bytes need not be.
    whole = EMPTY;
    done({ bytes, held });
  };
  const broken = (): void => stop();
  request.on("data", take);
  request.on("end", end);
  request.on("close", broken);
  // Only now: a client that waits for this word sends nothing to a gateway that refuses it.
  if (request.headers.expect !== undefined) response.writeContinue();
}

function badStructure(message: string): Refusal {
  return { status: 400, headers: {}, error: { code: "INPUT_INVALID", message } };
}

function tooLarge(maxBytes: number): Refusal {
  const error = { code: "MESSAGE_TOO_LARGE", message: `The body is larger than ${maxBytes} bytes` } as const;
  return { status: 413, headers: {}, error };
}
