// Peer: requests in flight on one transport, with ids, deadlines, progress and cancellation. Each settles exactly once.

import { InFlightMap } from "../../base/collections/in-flight-map.ts";
import { CALL_TIMEOUT_HINT, PortolanError } from "../../errors/index.ts";
import {
  type JsonObject,
  type LogMessage,
  type Progress,
  RPC,
  type RequestId,
  type RpcErrorObject,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  hasMethod,
  isObject,
} from "../../model/index.ts";
import type { OpenPhase } from "../../telemetry/index.ts";
import { messageWithoutNulls, resultWithoutNulls } from "./null-fields.ts";
import {
  type OutgoingMessage,
  RequestWriter,
  writeNotification,
  writeResponse,
} from "../transports/outgoing-message.ts";
import { AbortSignals } from "./abort-signals.ts";
import type { ServerRequestHandler, Call } from "../upstream.ts";
import { cancelledRequest, HARD_LIMIT_HINT, timerMs } from "../waiting.ts";
import { neverRan, type Transport } from "../transports/transport.ts";

export interface PeerRequest {
  readonly method: string;
  readonly params?: JsonObject;
  /** The `_meta` to send; undefined sends none. */
  readonly meta?: JsonObject;
  /** True to request progress notifications; the token is the request's id. */
  readonly withProgress?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** 0 means no limit. */
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  /** When the hard limit ends, if it began before this request. */
  readonly endsAt?: number;
  readonly onProgress?: (progress: Progress) => void;
  readonly onLog?: (message: LogMessage) => void;
  readonly onNotification?: Call["onNotification"];
  readonly onServerRequest?: ServerRequestHandler;
  readonly onDeclined?: Call["onDeclined"];
  readonly noServerRequests?: boolean;
  /** Identifies the client, if there are several. */
  readonly callerId?: string;
  readonly repeats?: boolean;
  /** Called with the id as soon as the request has one. */
  readonly onSent?: (id: number) => void;
  /** Learns the id of the request, and how it ends. */
  readonly phase?: OpenPhase;
}

export interface PeerEvents {
  notification(message: RpcNotification, origin: RequestId | undefined): void;
  request(message: RpcRequest, origin: RequestId | undefined): void;
  /** This many requests in a row have timed out. */
  unresponsive(consecutive: number): void;
  closed(error: PortolanError): void;
  /** A request was abandoned, but the server may still work on it. Called while it is still pending. */
  abandoned(pending: Pending): void;
  /** An abandoned request was answered after all. */
  answeredLate(id: number): void;
  /** The login of a person that requests wait for. */
  waitingForPerson?(): Promise<unknown> | undefined;
}

export interface Pending {
  readonly id: number;
  readonly request: PeerRequest;
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: PortolanError) => void;
  readonly sentAt: number;
  idleAt: number;
  endsAt: number;
  /** Open server requests that this request may have caused. */
  serverRequests: Set<OpenServerRequest> | undefined;
}

/** A server request that is being answered. It ends with the last request that may have caused it. */
interface OpenServerRequest {
  readonly end: AbortController;
  /** The server answered one of those requests, which therefore did not cause the server request. */
  readonly answered: ((cause: Pending) => void) | undefined;
  causes: number;
}

export class Peer {
  readonly transport: Transport;
  readonly server: string;
  readonly pending: InFlightMap<RequestId, Pending> = new InFlightMap();
  lateAnswers = 0;
  unknownAnswers = 0;
  readonly #events: PeerEvents;
  readonly #writer = new RequestWriter();
  #nextId = 1;
  #consecutiveTimeouts = 0;
  /** When the first request timed out since the last answer. */
  #silentSince = Infinity;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;
  #dead: PortolanError | undefined;
  #lastTimeoutAt = -Infinity;
  readonly #signals = new AbortSignals((id, signal) => {
    const request = this.pending.get(id)?.request ?? { method: "the request" };
    this.#abandon(id, cancelledRequest(this.server, request, signal.reason));
  });
  /** True to announce a cancelled request by a notification, besides dropping its stream. */
  announceCancel = true;
  /** Called when no request is in flight any more. */
  onIdle: (() => void) | undefined;

  constructor(transport: Transport, server: string, events: PeerEvents) {
    this.transport = transport;
    this.server = server;
    this.#events = events;
  }

  /** The error that ended the connection. */
  get dead(): PortolanError | undefined {
    return this.#dead;
  }

  async open(signal: AbortSignal): Promise<void> {
    await this.transport.open(
      {
        message: (message, origin) => this.#receive(message, origin),
        failed: (id, error) => this.#fail(id, error),
        closed: (error) => this.#close(error),
      },
      signal,
    );
  }

  request(request: PeerRequest): Promise<JsonObject> {
    const { phase } = request;
    return new Promise((resolve, reject) => {
      if (phase === undefined) this.#send(request, resolve, reject);
      else
        this.#send(
          request,
          (result) => {
            phase.succeeded(result);
            resolve(result);
          },
          (error) => {
            phase.failed(error);
            reject(error);
          },
        );
    });
  }

  #send(request: PeerRequest, resolve: Pending["resolve"], reject: Pending["reject"]): void {
    if (this.#dead !== undefined) return reject(this.#dead);
    const { signal, timeoutMs, maxTimeoutMs } = request;
    if (signal?.aborted) return reject(cancelledRequest(this.server, request, signal.reason));
    const id = this.#nextId++;
    const now = performance.now();
    const idleAt = timeoutMs === 0 ? Infinity : now + timeoutMs;
    const endsAt = request.endsAt ?? (maxTimeoutMs === 0 ? Infinity : now + maxTimeoutMs);
    if (signal !== undefined) this.#signals.add(signal, id);
    this.pending.set(id, {
      id,
      request,
      resolve,
      reject,
      sentAt: now,
      idleAt,
      endsAt,
      serverRequests: undefined,
    });
    this.#arm(Math.min(idleAt, endsAt));
    request.onSent?.(id);
    request.phase?.sent(id);
    try {
      this.transport.send(this.#writer.write(id, request), request.headers);
    } catch (error) {
      this.#take(id)?.reject(sendError(error, this.server, request.method));
    }
  }

  notify(method: string, params?: JsonObject): void {
    this.#sendOneWay(writeNotification(method, params));
  }

  respond(id: RequestId, outcome: { result: JsonObject } | { error: RpcErrorObject }): void {
    this.#sendOneWay(writeResponse(id, outcome));
  }

  /** A server may end a subscription stream by a cancellation instead of a result. */
  endSubscription(id: RequestId): void {
    if (this.pending.get(id)?.request.method === "subscriptions/listen") this.#take(id)?.resolve({});
  }

  async close(error: PortolanError): Promise<void> {
    this.#die(error);
    await this.transport.close();
  }

  /** The user is answering on behalf of these requests: their timeouts are suspended until the returned function is called. */
  openServerRequest(
    requests: readonly Pending[],
    end: AbortController,
    answered?: (cause: Pending) => void,
  ): () => void {
    const serverRequest = { end, answered, causes: requests.length };
    for (const pending of requests) {
      pending.serverRequests ??= new Set();
      pending.serverRequests.add(serverRequest);
      pending.idleAt = Infinity;
    }
    return () => {
      for (const pending of requests) {
        pending.serverRequests?.delete(serverRequest);
        const { timeoutMs } = pending.request;
        if (pending.serverRequests?.size !== 0 || timeoutMs === 0 || !this.pending.has(pending.id)) continue;
        pending.idleAt = performance.now() + timeoutMs;
        this.#arm(pending.idleAt);
      }
    };
  }

  #receive(message: RpcMessage, origin: RequestId | undefined): void {
    if (hasMethod(message)) return this.#called(message, origin);
    const pending = message.id === null ? undefined : this.#take(message.id);
    if (pending === undefined) {
      if (typeof message.id === "number" && message.id < this.#nextId) {
        this.lateAnswers += 1;
        this.#events.answeredLate(message.id);
      } else this.unknownAnswers += 1;
      return;
    }
    this.#silentSince = Infinity;
    // A server that only answers pings does not answer calls.
    if (!PROBES.has(pending.request.method)) this.#consecutiveTimeouts = 0;
    for (const serverRequest of pending.serverRequests ?? []) serverRequest.answered?.(pending);
    if (message.error != null) pending.reject(rpcError(this.server, pending.request.method, message.error));
    else if (isObject(message.result))
      pending.resolve(resultWithoutNulls(pending.request.method, message.result));
    else pending.reject(this.#noResult(pending.request.method));
  }

  /** Handles a request or a notification of the server. */
  #called(given: RpcRequest | RpcNotification, origin: RequestId | undefined): void {
    const message = messageWithoutNulls(given);
    // Some libraries write a null id into notifications.
    if ("id" in message && message.id != null) {
      if (this.#isEcho(message))
        return this.#take(message.id)?.reject(echoError(this.server, message.method));
      this.#events.request(message, origin);
    } else if (message.method === "notifications/progress") this.#progress(message.params);
    else this.#events.notification(message, origin);
  }

  /** True for the first request of this side, which a server never sends: a program such as `cat` returned it. */
  #isEcho({ id, method }: RpcRequest): boolean {
    return FIRST_REQUESTS.has(method) && this.pending.get(id)?.request.method === method;
  }

  #noResult(method: string): PortolanError {
    const message = `${this.server} answered ${method} with neither a result nor an error`;
    return new PortolanError("PROTOCOL_ERROR", message, { server: this.server, data: { method } });
  }

  #progress(params: JsonObject | undefined): void {
    const token = params?.progressToken;
    const pending = typeof token === "number" ? this.pending.get(token) : undefined;
    if (pending === undefined || params === undefined) return;
    this.#silentSince = Infinity;
    this.#consecutiveTimeouts = 0;
    const { timeoutMs, onProgress } = pending.request;
    if (timeoutMs !== 0 && pending.idleAt !== Infinity) pending.idleAt = performance.now() + timeoutMs;
    if (onProgress === undefined || typeof params.progress !== "number") return;
    const { progressToken: _token, ...progress } = params;
    try {
      onProgress(progress as unknown as Progress);
    } catch {
      // An exception in a listener must not break the call.
    }
  }

  #fail(id: RequestId, error: PortolanError): void {
    const pending = this.pending.get(id);
    if (pending === undefined) return;
    this.#events.abandoned(pending);
    this.#take(id)?.reject(error);
  }

  /** Abandons a request and announces its cancellation to the server. */
  #abandon(id: number, error: PortolanError): void {
    const pending = this.pending.get(id);
    if (pending === undefined) return;
    this.#events.abandoned(pending);
    this.#take(id);
    // `initialize` must not be cancelled; the connection is closed instead.
    if (this.announceCancel && pending.request.method !== "initialize") {
      this.notify("notifications/cancelled", { requestId: id, reason: error.message });
    }
    this.transport.abandon?.(id);
    pending.reject(error);
  }

  #take(id: RequestId): Pending | undefined {
    const pending = this.pending.take(id);
    if (pending === undefined) return undefined;
    if (pending.request.signal !== undefined) this.#signals.remove(pending.request.signal, pending.id);
    for (const serverRequest of pending.serverRequests ?? []) {
      serverRequest.causes -= 1;
      if (serverRequest.causes === 0) serverRequest.end.abort();
    }
    if (this.pending.size === 0) {
      this.#timer?.unref();
      this.onIdle?.();
    }
    return pending;
  }

  #close(error: PortolanError): void {
    this.#die(error);
    this.#events.closed(error);
  }

  #die(error: PortolanError): void {
    this.#dead ??= error;
    clearTimeout(this.#timer);
    for (const id of this.pending.keys())
      this.#take(id)?.reject(this.transport.neverSent?.(id) === true ? neverRan(error) : error);
  }

  /** One timer serves all requests: it is set to the earliest deadline. */
  #arm(at: number): void {
    if (this.#timer !== undefined && at >= this.#timerAt) {
      if (this.pending.size === 1) this.#timer.ref();
      return;
    }
    if (at === Infinity) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => this.#sweep(), timerMs(at - performance.now()));
  }

  #sweep(): void {
    this.#timer = undefined;
    this.#timerAt = Infinity;
    const now = performance.now();
    let next = Infinity;
    const person = this.#events.waitingForPerson?.();
    for (const pending of this.pending.values()) {
      const at = Math.min(pending.idleAt, pending.endsAt);
      if (at > now) next = Math.min(next, at);
      else if (person !== undefined) this.#suspend(pending, person);
      else this.#expire(pending, pending.endsAt <= now);
    }
    if (this.pending.size > 0) this.#arm(next);
  }

  /** A person takes longer than a server: the time limits of the request begin anew when the login has ended. */
  #suspend(pending: Pending, person: Promise<unknown>): void {
    const { timeoutMs, maxTimeoutMs } = pending.request;
    pending.idleAt = Infinity;
    pending.endsAt = Infinity;
    const resume = (): void => {
      if (!this.pending.has(pending.id)) return;
      const now = performance.now();
      const isAsked = (pending.serverRequests?.size ?? 0) > 0;
      pending.idleAt = timeoutMs === 0 || isAsked ? Infinity : now + timeoutMs;
      pending.endsAt = maxTimeoutMs === 0 ? Infinity : now + maxTimeoutMs;
      this.#arm(Math.min(pending.idleAt, pending.endsAt));
    };
    void person.then(resume, resume);
  }

  #expire(pending: Pending, hard: boolean): void {
    const { method, timeoutMs, maxTimeoutMs } = pending.request;
    const ms = hard ? maxTimeoutMs : timeoutMs;
    const what = hard ? "took longer than the hard limit of" : "neither answered nor reported progress for";
    this.#abandon(
      pending.id,
      new PortolanError("TIMEOUT", `${this.server} ${what} ${ms} ms (${method})`, {
        server: this.server,
        stderr: this.transport.stderrTail?.(),
        data: { method, timeoutMs: ms, hard },
        hint: hard ? HARD_LIMIT_HINT : CALL_TIMEOUT_HINT,
      }),
    );
    // Requests that were in flight when another timed out are no further evidence against the server.
    if (pending.sentAt < this.#lastTimeoutAt) return;
    const now = performance.now();
    this.#silentSince = Math.min(this.#silentSince, now);
    // A server that is busy for a while answers no ping, and works again later.
    if (PROBES.has(method) && now - this.#silentSince < MAX_BUSY_MS) return;
    this.#lastTimeoutAt = now;
    this.#consecutiveTimeouts += 1;
    this.#events.unresponsive(this.#consecutiveTimeouts);
  }

  #sendOneWay(message: OutgoingMessage): void {
    if (this.#dead !== undefined) return;
    try {
      this.transport.send(message);
    } catch {
      // A notification has no caller to inform; a broken transport reports its own end.
    }
  }
}

/** Requests that only ask whether the server answers. */
export const PROBES: ReadonlySet<string> = new Set(["ping", "server/discover"]);
/** For this long after a timeout, a server may be too busy to answer them. */
const MAX_BUSY_MS = 60_000;

const FIRST_REQUESTS: ReadonlySet<string> = new Set(["initialize", "server/discover"]);

function echoError(server: string, method: string): PortolanError {
  return new PortolanError(
    "PROTOCOL_ERROR",
    `${server} is not an MCP server: it sent back Portolan's own request (${method})`,
    {
      server,
      data: { method },
      hint: "The program returns its input, as cat does. Check the command and its arguments: they must start an MCP server.",
    },
  );
}

function sendError(error: unknown, server: string, method: string): PortolanError {
  if (error instanceof PortolanError) return error;
  return new PortolanError("INPUT_INVALID", `the params of ${method} cannot be written as JSON`, {
    server,
    hint: "Pass only values that JSON has: no BigInt, and no object that contains itself.",
    cause: error,
  });
}

export function rpcError(server: string, method: string, error: unknown): PortolanError {
  const { code, message, data }: JsonObject = isObject(error) ? error : { message: error };
  const isExplained = typeof message === "string" && message !== "";
  const text = isExplained
    ? message
    : `${method} failed with ${typeof code === "number" ? `the error code ${code}` : "an error without a code"}, and the server sent no message`;
  // -32021 is about a capability that the caller did not declare, so it has its own code.
  return new PortolanError(code === RPC.MISSING_CAPABILITY ? "CAPABILITY_MISSING" : "RPC_ERROR", text, {
    server,
    data: {
      method,
      rpcCode: typeof code === "number" ? code : 0,
      rpcData: data,
    },
    // The default hint refers to the message of the server.
    hint: isExplained ? undefined : "Look for the reason in the log of the server, or ask its author.",
  });
}
