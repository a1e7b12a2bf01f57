// One negotiated connection: requests in the words of its era, the server's questions answered, its notices passed on.

import { isPortolanError, PortolanError, type Report } from "../errors/index.ts";
import type { LaunchNews } from "../launch/index.ts";
import {
  type JsonObject,
  type LogLevel,
  type LogMessage,
  META,
  RPC,
  type RequestId,
  type RpcNotification,
  type RpcRequest,
  type ServerDefinition,
  isObject,
} from "../model/index.ts";
import { Attribution, MAY_ASK } from "./attribution.ts";
import { envelope, negotiate } from "./negotiate.ts";
import { headersForCall, type ParamHeader } from "./param-headers.ts";
import { Peer } from "./peer.ts";
import { answerInputRequests, answerRequest, isQuestion } from "./questions.ts";
import { readToolPage } from "./tool-list.ts";
import type { Ask, Call, Caller, Description, UpstreamEvents } from "./types.ts";
import { within } from "./waiting.ts";
import type { Wire } from "./wire.ts";

type Notice = <E extends keyof UpstreamEvents>(event: E, ...args: UpstreamEvents[E]) => void;

export interface SessionOptions {
  readonly definition: ServerDefinition;
  readonly caller: Caller;
  /** Answers questions of calls that bring no `ask`, and those that belong to no call. */
  readonly ask: Ask | undefined;
  readonly knownLegacy: boolean;
  readonly signal: AbortSignal;
  readonly report: Report;
  readonly notice: Notice;
  readonly unresponsive: (session: Session, consecutive: number) => void;
  readonly closed: (session: Session, error: PortolanError) => void;
  readonly onProbe: () => void;
  readonly onStderr?: ((text: string) => void) | undefined;
  readonly onLaunch?: ((news: LaunchNews) => void) | undefined;
}

export class Session {
  /** Set when negotiation is over; a server may speak before. */
  description!: Description;
  declined = 0;
  /** Who waits for a subscription stream to be acknowledged. */
  readonly acknowledged: Map<RequestId, () => void> = new Map();
  /** What ends with it. */
  onClose: (() => Promise<void>) | undefined;
  /** What must be finished before a close is. */
  afterwards: Promise<void> | undefined;
  readonly peer: Peer;
  readonly #options: SessionOptions;
  readonly #attribution: Attribution;
  readonly #questions = new Map<RequestId, AbortController>();
  readonly #ended = new AbortController();
  readonly #toolHeaders = new Map<string, readonly ParamHeader[]>();
  #logLevel: LogLevel | undefined;
  #envelope: JsonObject | undefined;
  /** Somebody else's, as last used: who calls once often calls again. */
  #lastCaller: Caller | undefined;
  #lastEnvelope: JsonObject | undefined;

  private constructor(wire: Wire, options: SessionOptions) {
    this.#options = options;
    this.#logLevel = options.caller.logLevel;
    this.peer = new Peer(wire, options.definition.name, {
      notification: (message, origin) => this.#notified(message, origin),
      request: (message, origin) => void this.#asked(message, origin),
      unresponsive: (consecutive) => options.unresponsive(this, consecutive),
      closed: (error) => {
        this.#ended.abort(error);
        options.closed(this, error);
      },
      gaveUp: (pending) => this.#attribution.gaveUp(pending),
      answeredLate: (id) => this.#attribution.answeredLate(id),
    });
    this.#attribution = new Attribution(this.peer, options.ask);
  }

  static async open(wire: Wire, options: SessionOptions): Promise<Session> {
    const session = new Session(wire, options);
    try {
      await session.peer.open(options.signal);
      session.description = await negotiate(session.peer, options);
      // The connection may have ended while the last words of the negotiation were on their way.
      if (session.peer.dead !== undefined) throw session.peer.dead;
    } catch (error) {
      const reason = isPortolanError(error)
        ? error
        : new PortolanError("CONNECTION_CLOSED", "negotiation failed", { cause: error });
      await session.peer.close(reason);
      throw error;
    }
    return session;
  }

  /** Questions that might have been of one call or another, and so were declined. */
  get ambiguous(): number {
    return this.#attribution.ambiguous;
  }

  get modern(): boolean {
    return (this.description as Description | undefined)?.era === "modern";
  }

  request(call: Call): Promise<JsonObject> {
    if (call.method === "tools/list") return this.#listTools(call);
    if (call.method === "tools/call" && this.modern && this.peer.wire.perRequestStreams)
      return this.#callWithHeaders(call);
    if (!MAY_ASK.has(call.method)) return this.#send(call, call.params);
    return this.modern ? this.#withRounds(call) : this.#sendLegacy(call);
  }

  /** The level that later requests ask for. A legacy server must be told besides. */
  setLogLevel(level: LogLevel): void {
    this.#logLevel = level;
    this.#envelope = undefined;
  }

  async close(): Promise<void> {
    const { name } = this.#options.definition;
    const error = new PortolanError("CONNECTION_CLOSED", `the connection to ${name} is closed`, {
      server: name,
    });
    this.#ended.abort(error);
    await this.peer.close(error);
    await Promise.all([this.onClose?.(), this.afterwards]);
  }

  /** Closes when what is in flight has been answered: the server forgot the session, but each request is its own to lose. */
  retire(retired: () => void): void {
    this.peer.onIdle = () => {
      this.peer.onIdle = undefined;
      void this.close().then(retired);
    };
    if (this.peer.pending.size === 0) this.peer.onIdle();
  }

  async #listTools(call: Call): Promise<JsonObject> {
    const page = readToolPage(await this.#send(call, call.params), {
      withHeaders: this.modern && this.peer.wire.perRequestStreams,
      server: this.#options.definition.name,
      report: this.#options.report,
    });
    for (const [tool, headers] of page.headers) this.#toolHeaders.set(tool, headers);
    return page.result;
  }

  async #callWithHeaders(call: Call): Promise<JsonObject> {
    try {
      return await this.#withRounds(call, this.#headersFor(call));
    } catch (error) {
      if (!isPortolanError(error) || error.data.rpcCode !== RPC.HEADER_MISMATCH) throw error;
      // The definition at hand is out of date, or was never fetched; the request was refused, not run.
      await this.#refreshToolHeaders(call);
      return await this.#withRounds(call, this.#headersFor(call));
    }
  }

  #headersFor(call: Call): Record<string, string> | undefined {
    const headers = this.#toolHeaders.get(String(call.params?.name));
    return headers === undefined ? undefined : headersForCall(headers, call.params?.arguments);
  }

  async #refreshToolHeaders(call: Call): Promise<void> {
    this.#toolHeaders.clear();
    let cursor: unknown;
    for (let page = 0; page < this.#options.definition.limits.maxPages; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const result = await this.#listTools({
        method: "tools/list",
        params,
        caller: call.caller,
        signal: call.signal,
      });
      if (typeof result.nextCursor !== "string" || result.nextCursor === cursor) return;
      cursor = result.nextCursor;
    }
  }

  /** A server of this era gives no state: who brings one means something else, and the request would run as a new one. */
  #sendLegacy(call: Call): Promise<JsonObject> {
    if (call.params?.requestState === undefined && call.params?.inputResponses === undefined)
      return this.#send(call, call.params);
    const { requestState, inputResponses: _responses, ...params } = call.params;
    if (requestState === undefined) return this.#send(call, params);
    const { name } = this.#options.definition;
    return Promise.reject(
      new PortolanError("INPUT_INVALID", `requestState is not accepted: ${name} never gave one`, {
        server: name,
        hint: "Make the request again without requestState and inputResponses.",
      }),
    );
  }

  #withRounds(call: Call, headers?: Record<string, string>): Promise<JsonObject> {
    const startedAt = performance.now();
    return this.#send(call, call.params, headers).then((result) =>
      result.resultType === "input_required" && call.passInputRequired !== true
        ? this.#answerAndRepeat(call, headers, result, startedAt)
        : result,
    );
  }

  /** A modern server asks by answering; the questions are put and the request repeated until it is done. */
  async #answerAndRepeat(
    call: Call,
    headers: Record<string, string> | undefined,
    first: JsonObject,
    startedAt: number,
  ): Promise<JsonObject> {
    const { name, limits } = this.#options.definition;
    // The hard limit is one for all rounds.
    const maxMs = call.maxTimeoutMs ?? limits.maxRequestMs;
    const endsAt = maxMs === 0 ? Infinity : startedAt + maxMs;
    let asked = first;
    for (let round = 0; round < limits.maxInputRounds; round += 1) {
      if (asked.inputRequests == null && typeof asked.requestState !== "string") {
        throw new PortolanError("PROTOCOL_ERROR", `${name} asks for input without saying what`, {
          server: name,
        });
      }
      const inputResponses = await this.#putQuestions(call, asked.inputRequests, endsAt);
      // Nothing of an earlier round travels on: the state is the server's latest, or none.
      const { inputResponses: _responses, requestState: _state, ...original } = call.params ?? {};
      const params = {
        ...original,
        ...(asked.inputRequests == null ? {} : { inputResponses }),
        ...(asked.requestState == null ? {} : { requestState: asked.requestState }),
      };
      const result = await this.#send(call, params, headers, endsAt);
      if (result.resultType !== "input_required") return result;
      asked = result;
    }
    throw new PortolanError(
      "TOO_MANY_ROUNDS",
      `${name} still asks for input after ${limits.maxInputRounds} rounds`,
      { server: name },
    );
  }

  /** The questions end with the call: when its caller cancels, when the connection ends, when its hard limit is over. */
  async #putQuestions(call: Call, inputRequests: unknown, endsAt: number): Promise<JsonObject> {
    const { name, limits } = this.#options.definition;
    const ms = call.maxTimeoutMs ?? limits.maxRequestMs;
    const end = new AbortController();
    const others = call.signal === undefined ? [] : [call.signal];
    const signal = AbortSignal.any([end.signal, this.#ended.signal, ...others]);
    const ask = call.ask ?? this.#options.ask;
    const answers = answerInputRequests(ask, inputRequests, { server: name, signal }, () => {
      this.declined += 1;
    });
    try {
      const what = `${call.method} with its questions`;
      return await within(answers, { server: name, what, ms, endsAt, signal });
    } catch (error) {
      throw this.peer.dead ?? error;
    } finally {
      end.abort();
    }
  }

  #send(
    call: Call,
    params: JsonObject | undefined,
    headers?: Record<string, string>,
    endsAt?: number,
  ): Promise<JsonObject> {
    const { limits } = this.#options.definition;
    if (call.caller?.id !== undefined) this.#attribution.manyClients = true;
    return this.peer.request({
      method: call.method,
      params,
      meta: this.#metaFor(call, params),
      withProgress: true,
      headers,
      signal: call.signal,
      timeoutMs: call.timeoutMs ?? limits.requestTimeoutMs,
      maxTimeoutMs: call.maxTimeoutMs ?? limits.maxRequestMs,
      endsAt,
      onProgress: call.onProgress,
      onDeclined: call.onDeclined,
      quiet: call.quiet,
      onLog: call.onLog,
      ask: call.ask,
      callerId: call.caller?.id,
    });
  }

  #metaFor(call: Call, params: JsonObject | undefined): JsonObject | undefined {
    const own = isObject(params?._meta) ? params._meta : undefined;
    if (!this.modern) return own;
    const caller = call.caller ?? this.#options.caller;
    // Almost every call is made for the connection's own caller, whose envelope does not change.
    const envelopeNow = caller === this.#options.caller ? this.#standingEnvelope() : this.#envelopeOf(caller);
    return own === undefined ? envelopeNow : { ...own, ...envelopeNow };
  }

  #envelopeOf(caller: Caller): JsonObject {
    if (caller !== this.#lastCaller || this.#lastEnvelope === undefined) {
      this.#lastCaller = caller;
      this.#lastEnvelope = envelope(caller, this.description.revision);
    }
    return this.#lastEnvelope;
  }

  #standingEnvelope(): JsonObject {
    this.#envelope ??= envelope(
      { ...this.#options.caller, logLevel: this.#logLevel },
      this.description.revision,
    );
    return this.#envelope;
  }

  async #asked(message: RpcRequest, origin: RequestId | undefined): Promise<void> {
    // A modern server may not ask this way, and must not be answered.
    if (this.modern) {
      this.declined += 1;
      return;
    }
    const controller = new AbortController();
    this.#questions.set(message.id, controller);
    const signal = AbortSignal.any([controller.signal, this.#ended.signal]);
    // A ping is no sign of life of any call.
    const claim = isQuestion(message.method)
      ? await this.#attribution.claim(message.params, origin, controller)
      : undefined;
    if (!signal.aborted) {
      const { id, method, params = {} } = message;
      const answer = await answerRequest(claim?.ask, { id, method, params, signal }, () => {
        this.declined += 1;
        claim?.cause?.onDeclined?.({ method, params });
      });
      if (!signal.aborted) this.peer.respond(message.id, answer);
    }
    claim?.closed();
    this.#questions.delete(message.id);
  }

  #logged(message: LogMessage, origin: RequestId | undefined): void {
    const hear = this.#attribution.hearer(origin);
    if (hear === undefined) return this.#options.notice("log", message);
    try {
      hear(message);
    } catch {
      // A broken listener must not break the call it listens to.
    }
  }

  #notified({ method, params }: RpcNotification, origin: RequestId | undefined): void {
    const { notice } = this.#options;
    switch (method) {
      case "notifications/tools/list_changed":
        return notice("toolsChanged");
      case "notifications/prompts/list_changed":
        return notice("promptsChanged");
      case "notifications/resources/list_changed":
        return notice("resourcesChanged");
      case "notifications/resources/updated":
        return typeof params?.uri === "string" && this.#isWanted(params)
          ? notice("resourceUpdated", params.uri)
          : undefined;
      case "notifications/message":
        return isObject(params) ? this.#logged(params as LogMessage, origin) : undefined;
      case "notifications/cancelled": {
        const id = params?.requestId as RequestId;
        // Either our subscription stream is torn down, or a question of the server's is withdrawn.
        this.peer.endSubscription(id);
        return this.#questions.get(id)?.abort(params?.reason);
      }
      case "notifications/subscriptions/acknowledged": {
        const meta = isObject(params?._meta) ? params._meta : {};
        return this.acknowledged.get(meta[META.SUBSCRIPTION_ID] as RequestId)?.();
      }
    }
  }

  /** A modern notice names the stream that it belongs to; one of a stream that was given up is nobody's. */
  #isWanted(params: JsonObject): boolean {
    const id = isObject(params._meta) ? params._meta[META.SUBSCRIPTION_ID] : undefined;
    return id === undefined || this.peer.pending.has(id as RequestId);
  }
}
