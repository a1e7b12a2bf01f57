// One negotiated connection: requests in the words of its era, the server's questions answered, its notices passed on.

import { isPortolanError, PortolanError, type Report } from "../../errors/index.ts";
import type { LaunchNews } from "../../launch/index.ts";
import {
  type JsonObject,
  type LogLevel,
  RPC,
  type RequestId,
  type RpcRequest,
  type ServerDefinition,
  isObject,
} from "../../model/index.ts";
import { Attribution, MAY_ASK } from "../server-requests/attribution.ts";
import { Envelopes } from "./envelope.ts";
import { explainEraResult, inputRequiredInLegacy } from "../failure-hints/era-hints.ts";
import { InputRounds } from "../server-requests/input-rounds.ts";
import { negotiate } from "../negotiation/negotiate.ts";
import { type Notice, Notices } from "./notifications.ts";
import { OpenQuestions } from "../server-requests/legacy-requests.ts";
import { Peer } from "./peer.ts";
import { ToolHeaders } from "./tool-headers.ts";
import { readToolPage } from "./tool-page.ts";
import type { Ask, Call, Caller, Description } from "../upstream.ts";
import type { Wire } from "../transports/transport.ts";

const PING_MS = 5_000;

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
  /** What ends with it. */
  onClose: (() => Promise<void>) | undefined;
  /** What must be finished before a close is. */
  afterwards: Promise<void> | undefined;
  readonly peer: Peer;
  readonly notices: Notices;
  readonly #options: SessionOptions;
  readonly #attribution: Attribution;
  readonly #questions: OpenQuestions;
  readonly #rounds: InputRounds;
  readonly #toolHeaders: ToolHeaders;
  readonly #envelopes: Envelopes;
  readonly #ended = new AbortController();

  private constructor(wire: Wire, options: SessionOptions) {
    this.#options = options;
    const { definition, caller, ask, notice } = options;
    this.peer = new Peer(wire, definition.name, {
      notification: (message, origin) => this.notices.heard(message, origin),
      request: (message, origin) => this.#asked(message, origin),
      unresponsive: (consecutive) => options.unresponsive(this, consecutive),
      closed: (error) => {
        this.#ended.abort(error);
        options.closed(this, error);
      },
      gaveUp: (pending) => this.#attribution.gaveUp(pending),
      answeredLate: (id) => this.#attribution.answeredLate(id),
    });
    const { peer } = this;
    const { signal: ended } = this.#ended;
    const declined = (): void => {
      this.declined += 1;
    };
    const attribution = new Attribution(peer, ask, () => this.#ping());
    this.#attribution = attribution;
    this.#questions = new OpenQuestions({ peer, attribution, ended, declined });
    this.notices = new Notices({ peer, attribution, questions: this.#questions, notice });
    this.#envelopes = new Envelopes(caller);
    this.#toolHeaders = new ToolHeaders((call) => this.#listTools(call), definition.limits.maxPages);
    this.#rounds = new InputRounds({
      ...{ definition, peer, ask, ended, declined },
      send: (call, params, headers, endsAt) => this.#send(call, params, headers, endsAt),
    });
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
    this.#envelopes.setLogLevel(level);
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
    this.#toolHeaders.learn(page.headers);
    return page.result;
  }

  async #callWithHeaders(call: Call): Promise<JsonObject> {
    try {
      return await this.#withRounds(call, this.#toolHeaders.of(call));
    } catch (error) {
      if (!isPortolanError(error) || error.data.rpcCode !== RPC.HEADER_MISMATCH) throw error;
      // The definition at hand is out of date, or was never fetched; the request was refused, not run.
      await this.#toolHeaders.refresh(call);
      return await this.#withRounds(call, this.#toolHeaders.of(call));
    }
  }

  /** A server of this era gives no state: who brings one means something else, and the request would run as a new one. */
  #sendLegacy(call: Call): Promise<JsonObject> {
    const { name } = this.#options.definition;
    const send = async (params: JsonObject | undefined): Promise<JsonObject> => {
      const result = await this.#send(call, params);
      if (result.resultType === "input_required") throw inputRequiredInLegacy(name, call.method);
      // In this era it is always an object; in the modern one null is a value like any other.
      if (result.structuredContent !== null) return result;
      const { structuredContent: _absent, ...others } = result;
      return others;
    };
    if (call.params?.requestState === undefined && call.params?.inputResponses === undefined)
      return send(call.params);
    const { requestState, inputResponses: _responses, ...params } = call.params;
    if (requestState === undefined) return send(params);
    return Promise.reject(
      new PortolanError("INPUT_INVALID", `requestState is not accepted: ${name} never gave one`, {
        server: name,
        hint: "Make the request again without requestState and inputResponses.",
      }),
    );
  }

  #withRounds(call: Call, headers?: Record<string, string>): Promise<JsonObject> {
    const startedAt = performance.now();
    return this.#send(call, call.params, headers).then((result) => {
      if (result.isError === true) return explainEraResult(result, this.#options.definition.name);
      return result.resultType === "input_required" && call.passInputRequired !== true
        ? this.#rounds.finish(call, headers, result, startedAt)
        : result;
    });
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
      onNotification: call.onNotification,
      ask: call.ask,
      callerId: call.caller?.id,
      repeats: call.repeats,
    });
  }

  /** The modern era has no ping; every server describes itself. */
  #ping(): Promise<JsonObject> {
    const method = this.modern ? "server/discover" : "ping";
    return this.peer.request({
      method,
      meta: this.#metaFor({ method }, undefined),
      timeoutMs: PING_MS,
      maxTimeoutMs: PING_MS,
    });
  }

  #metaFor(call: Call, params: JsonObject | undefined): JsonObject | undefined {
    const own = isObject(params?._meta) ? params._meta : undefined;
    if (!this.modern) return own;
    const envelope = this.#envelopes.of(call.caller, this.description.revision);
    return own === undefined ? envelope : { ...own, ...envelope };
  }

  #asked(message: RpcRequest, origin: RequestId | undefined): void {
    // A modern server may not ask this way, and must not be answered.
    if (this.modern) this.declined += 1;
    else void this.#questions.answer(message, origin);
  }
}
