// Reads the body of a request within the limits of the gateway and of its caller.

import type { CallerLimits, Refusal } from "../access/types.ts";
import type { MessageCheck } from "../common/intake.ts";
import type { HttpRequest, HttpResponse } from "./responses.ts";

export type Body =
  | {
      readonly bytes: Buffer;
      /** Bytes that count towards the limit of the caller until the request is done. */
      readonly reserved: number;
    }
  | { readonly refusal: Refusal };

export interface BodyLimits {
  readonly maxBytes: number;
  readonly limits: CallerLimits;
  readonly check: MessageCheck;
}

const EMPTY: Buffer = Buffer.alloc(0);
/** Counted for every request in addition to its body, for its connection and its call. */
const OVERHEAD_BYTES = 4 * 1024;

/** Calls back once, with the bytes or with a refusal. If the client disconnects, it does not call back. */
export function readBody(
  response: HttpResponse,
  { maxBytes, limits, check }: BodyLimits,
  done: (body: Body) => void,
): void {
  const { req: request } = response;
  if (request.readableEnded) return done(readParsed(request, { maxBytes, limits, check }));
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > maxBytes) return done({ refusal: tooLarge(maxBytes) });
  let reserved = declared + OVERHEAD_BYTES;
  const refusal = limits.reserveBytes(reserved);
  if (refusal !== undefined) return done({ refusal });
  let whole = EMPTY;
  let length = 0;
  const stop = (refused?: Refusal): void => {
    request.off("data", onData);
    request.off("end", onEnd);
    request.off("close", onClose);
    whole = EMPTY;
    limits.releaseBytes(reserved);
    if (refused === undefined) return;
    request.pause();
    done({ refusal: refused });
  };
  const onData = (chunk: Buffer): void => {
    const needed = length + chunk.length;
    if (needed > maxBytes) return stop(tooLarge(maxBytes));
    const error = check.push(chunk);
    if (error !== undefined) return stop(badStructure(error.message));
    const more = needed + OVERHEAD_BYTES - reserved;
    if (more > 0) {
      const refused = limits.reserveBytes(more);
      if (refused !== undefined) return stop(refused);
      reserved += more;
    }
    if (length === 0) whole = chunk;
    else {
      // One buffer that doubles its size, because a list of tiny chunks would take far more memory than their bytes.
      if (needed > whole.length) {
        const larger = Buffer.allocUnsafe(Math.max(declared, needed, Math.min(maxBytes, 2 * whole.length)));
        whole.copy(larger, 0, 0, length);
        whole = larger;
      }
      chunk.copy(whole, length);
    }
    length = needed;
  };
  const onEnd = (): void => {
    request.off("close", onClose);
    const bytes = length === whole.length ? whole : whole.subarray(0, length);
    // The connection keeps the request in memory for a while; its bytes need not stay with it.
    whole = EMPTY;
    done({ bytes, reserved });
  };
  const onClose = (): void => stop();
  request.on("data", onData);
  request.on("end", onEnd);
  request.on("close", onClose);
  // Sent only now, so that a client that is refused does not send its body.
  if (request.headers.expect !== undefined) response.writeContinue();
}

/** True if the program has read the body of the request before, and left no body that a parser made of it. */
export function isBodyGone(request: HttpRequest): boolean {
  return request.readableEnded && parsedBody(request) === undefined;
}

/** The body that a body parser of the program, such as `express.json()`, left in the request. */
function parsedBody({ body }: HttpRequest): Buffer | undefined {
  if (Buffer.isBuffer(body)) return body;
  if (typeof body === "string") return Buffer.from(body);
  return typeof body === "object" && body !== null ? Buffer.from(JSON.stringify(body)) : undefined;
}

function readParsed(request: HttpRequest, { maxBytes, limits, check }: BodyLimits): Body {
  const bytes = parsedBody(request) ?? EMPTY;
  if (bytes.length > maxBytes) return { refusal: tooLarge(maxBytes) };
  const error = check.push(bytes);
  if (error !== undefined) return { refusal: badStructure(error.message) };
  const reserved = bytes.length + OVERHEAD_BYTES;
  const refusal = limits.reserveBytes(reserved);
  return refusal === undefined ? { bytes, reserved } : { refusal };
}

function badStructure(message: string): Refusal {
  return { status: 400, headers: {}, error: { code: "INPUT_INVALID", message } };
}

function tooLarge(maxBytes: number): Refusal {
  const error = { code: "MESSAGE_TOO_LARGE", message: `The body is larger than ${maxBytes} bytes` } as const;
  return { status: 413, headers: {}, error };
}
