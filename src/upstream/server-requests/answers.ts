// Answers to server requests of both eras (elicitation, sampling, roots), and the responses that decline them.

import { PortolanError } from "../../errors/index.ts";
import {
  RPC,
  isObject,
  type JsonObject,
  type RpcErrorObject,
  type RequestId,
  type RpcRequest,
} from "../../model/index.ts";
import type { ServerRequestHandler, ServerRequest } from "../upstream.ts";
import type { Attribution } from "./attribution.ts";
import type { Peer } from "../session/peer.ts";

const ELICIT = "elicitation/create";
const SAMPLE = "sampling/createMessage";
const ROOTS = "roots/list";

/** True when a client with these capabilities answers any server request. */
export function canAnswer({ elicitation, sampling, roots }: JsonObject): boolean {
  return isObject(elicitation) || isObject(sampling) || isObject(roots);
}

export type Answer = { result: JsonObject } | { error: RpcErrorObject };

/** True for requests that a handler answers, unlike `ping`. */
export function isClientFeature(method: string): boolean {
  return method === ELICIT || method === SAMPLE || method === ROOTS;
}

/** Answers a legacy server's request. `declined` is called when no handler answered it. */
export async function answerRequest(
  handler: ServerRequestHandler | undefined,
  request: ServerRequest,
  declined: () => void,
): Promise<Answer> {
  const { method } = request;
  if (method === "ping") return { result: {} };
  if (!isClientFeature(method)) {
    return { error: { code: RPC.METHOD_NOT_FOUND, message: `This client does not support ${method}` } };
  }
  try {
    const result = await handler?.(request);
    if (result !== undefined) return { result };
  } catch (error) {
    if (method === ELICIT) return { result: { action: "cancel" } };
    return { error: { code: RPC.INTERNAL, message: error instanceof Error ? error.message : String(error) } };
  }
  declined();
  if (method === ELICIT) return { result: { action: "decline" } };
  // A client that supports the request declines it, too, if it could belong to several calls.
  const message = `This client declined ${method}`;
  return { error: { code: method === SAMPLE ? -1 : RPC.METHOD_NOT_FOUND, message } };
}

/** Answers all requests in a modern server's `input_required` result at the same time. */
export async function answerInputRequests(
  handler: ServerRequestHandler | undefined,
  inputRequests: unknown,
  place: { server: string; signal: AbortSignal },
  declined: () => void,
): Promise<JsonObject> {
  const entries = Object.entries(isObject(inputRequests) ? inputRequests : {});
  const answers = await Promise.all(
    entries.map(async ([key, request]) => {
      const method = isObject(request) && typeof request.method === "string" ? request.method : "";
      const params = isObject(request) && isObject(request.params) ? request.params : {};
      const answer = await answerRequest(
        handler,
        { id: key, method, params, signal: place.signal, server: place.server },
        declined,
      );
      if ("result" in answer) return [key, answer.result] as const;
      // The modern era has no way to decline these requests, so the call fails.
      if (method === ROOTS) return [key, { roots: [] }] as const;
      throw new PortolanError(
        "CAPABILITY_MISSING",
        `${place.server} needs ${method || "an unknown kind of input"}: ${answer.error.message}`,
        {
          server: place.server,
          data: { method },
          hint: inputHint(method, answer.error.code),
        },
      );
    }),
  );
  return Object.fromEntries(answers);
}

/** Undefined if a handler would help. */
function inputHint(method: string, code: number): string | undefined {
  if (!isClientFeature(method))
    return "Report this to the author of the server: MCP has no such server request.";
  return code === RPC.INTERNAL
    ? "The handler of this server request failed; the message gives its reason."
    : undefined;
}

interface LegacyRequestsOptions {
  /** The name of the server. */
  readonly server: string;
  readonly peer: Peer;
  readonly attribution: Attribution;
  /** Aborted when the connection ends, and all its server requests with it. */
  readonly ended: AbortSignal;
  readonly declined: () => void;
}

/** Requests of a legacy server: each is passed to a handler until it is answered, cancelled or too late. */
export class LegacyRequests {
  readonly #options: LegacyRequestsOptions;
  readonly #open = new Map<RequestId, AbortController>();

  constructor(options: LegacyRequestsOptions) {
    this.#options = options;
  }

  async answer(message: RpcRequest, origin: RequestId | undefined): Promise<void> {
    const { server, peer, attribution, ended, declined } = this.#options;
    const controller = new AbortController();
    this.#open.set(message.id, controller);
    const signal = AbortSignal.any([controller.signal, ended]);
    // A ping belongs to no call.
    const claim = isClientFeature(message.method)
      ? await attribution.claim(message.params, origin, controller)
      : undefined;
    if (!signal.aborted) {
      const { id, method, params = {} } = message;
      const related = origin !== undefined;
      const request = { id, method, params, signal, server, related };
      const answer = await answerRequest(claim?.handler, request, () => {
        declined();
        claim?.cause?.onDeclined?.({ method, params });
      });
      if (!signal.aborted) peer.respond(message.id, answer);
    }
    claim?.closed();
    this.#open.delete(message.id);
  }

  /** The server cancelled its request. */
  cancel(id: RequestId, reason: unknown): void {
    this.#open.get(id)?.abort(reason);
  }
}
