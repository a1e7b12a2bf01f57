// Observation of a client's request: begins when the request arrives, and ends with its reply.

import { PortolanError } from "../../errors/index.ts";
import { type Era, type Implementation, isObject, META, type RpcRequest } from "../../model/index.ts";
import type { CallObservers, ClientTransport, Observation } from "../../telemetry/index.ts";
import type { Reply, RequestContext } from "../common/types.ts";
import type { HttpRequest } from "../http/responses.ts";

/** The connection on which a client sends its requests, as far as observers want to know it. */
export interface Peer {
  readonly transport: ClientTransport;
  readonly httpVersion?: string;
  readonly address?: string;
  readonly port?: number;
  /** Trace context in the headers of the HTTP request. */
  readonly ambient?: Readonly<Record<string, string>>;
}

const HTTP: Peer = { transport: "http" };
const CONTEXT_HEADERS = ["traceparent", "tracestate"] as const;
const MAX_HEADER = 1_000;

/** Details of the connection are only for traces. */
export function peerOf(
  { headers, httpVersion, socket }: HttpRequest,
  transport: ClientTransport,
  traces: boolean,
): Peer {
  if (!traces) return { transport };
  let ambient: Record<string, string> | undefined;
  if (headers.traceparent !== undefined)
    for (const name of CONTEXT_HEADERS) {
      const value = headers[name];
      if (typeof value === "string" && value.length <= MAX_HEADER) (ambient ??= {})[name] = value;
    }
  return { transport, httpVersion, address: socket?.remoteAddress, port: socket?.remotePort, ambient };
}

export interface ClientSide {
  readonly era: Era;
  readonly revision: string;
  readonly client: Implementation | undefined;
  readonly peer: Peer | undefined;
}

/** The reply that reports to observers. The caller of this function has checked that there is an observer. */
export function observe(
  calls: CallObservers,
  { method, params, id }: RpcRequest,
  context: RequestContext,
  { era, revision, client, peer = HTTP }: ClientSide,
  reply: Reply,
): Reply {
  return new ObservedReply(
    reply,
    calls.begin({
      method,
      params,
      requestId: id,
      caller: context.caller.name,
      client,
      era,
      revision,
      transport: peer.transport,
      httpVersion: peer.httpVersion,
      address: peer.address,
      port: peer.port,
      ambient: peer.ambient,
    }),
  );
}

/** The client as the request of the stateless protocol names it. */
export function clientOf({ params }: RpcRequest): Implementation | undefined {
  const info = isObject(params?._meta) ? params._meta[META.CLIENT_INFO] : undefined;
  return isObject(info) ? (info as Implementation) : undefined;
}

class ObservedReply implements Reply {
  readonly canStream: boolean;
  readonly observation: Observation;
  readonly #reply: Reply;

  constructor(reply: Reply, observation: Observation) {
    this.#reply = reply;
    this.canStream = reply.canStream;
    this.observation = observation;
  }

  get onCancel(): (() => void) | undefined {
    return this.#reply.onCancel;
  }

  set onCancel(cancel: (() => void) | undefined) {
    this.#reply.onCancel =
      cancel &&
      (() => {
        cancel();
        this.observation.failed(new PortolanError("CANCELLED", "the client cancelled the request"));
        this.observation.finish();
      });
  }

  send(text: string): void {
    this.#reply.send(text);
  }

  end(text: string, status?: number): void {
    this.#reply.end(text, status);
    this.observation.finish();
  }
}
