// Session: one negotiated connection. Sends requests in the form of its era, answers server requests, passes notifications on.

import { isPortolanError, PortolanError, type Report } from "../../errors/index.ts";
import type { LaunchContext, LaunchNews } from "../../launch/index.ts";
import {
  type JsonObject,
  type LogLevel,
  RPC,
  type RequestId,
  type RpcRequest,
  type ServerDefinition,
  isObject,
} from "../../model/index.ts";
import type { RequestAuth } from "../../oauth/index.ts";
import type { Observation, OpenPhase } from "../../telemetry/index.ts";
import { Attribution, MAY_CAUSE_REQUESTS } from "../server-requests/attribution.ts";
import { Envelopes } from "./envelope.ts";
import { addressOf, describeUpstream, withTrace } from "./observed-request.ts";
import { explainEraResult, inputRequiredInLegacy } from "../failure-hints/era-hints.ts";
import { InputRounds } from "../server-requests/input-rounds.ts";
import { negotiate } from "../negotiation/negotiate.ts";
import { type EmitEvent, Notifications } from "./notifications.ts";
import { LegacyRequests } from "../server-requests/answers.ts";
import { Peer } from "./peer.ts";
import { ToolHeaders } from "./param-headers.ts";
import { readToolPage } from "./lists.ts";
import type { ServerRequestHandler, Call, Caller, Description } from "../upstream.ts";
import type { Transport } from "../transports/transport.ts";

const PING_MS = 5_000;

export interface SessionOptions {
  readonly definition: ServerDefinition;
  readonly caller: Caller;
  /** Answers the server requests of calls without a handler, and those that belong to no call. */
  readonly onServerRequest: ServerRequestHandler | undefined;
  readonly knownLegacy: boolean;
  readonly signal: AbortSignal;
  readonly report: Report;
  readonly emit: EmitEvent;
  readonly unresponsive: (session: Session, consecutive: number) => void;
  readonly closed: (session: Session, error: PortolanError) => void;
  readonly onProbe: () => void;
  readonly onStderr?: (text: string) => void;
  readonly onNoise?: (line: string) => void;
  readonly onLaunch?: (news: LaunchNews) => void;
  readonly launchContext?: LaunchContext;
  readonly auth?: RequestAuth;
}

export class Session {
  /** Set at the end of the negotiation; a server may send messages before. */
  description!: Description;
  declined = 0;
  /** Stops the local program behind an HTTP session. */
  onClose: (() => Promise<void>) | undefined;
  /** Work that `close` waits for. */
  afterwards: Promise<void> | undefined;
  readonly peer: Peer;
  readonly notifications: Notifications;
  readonly #options: SessionOptions;
  readonly #attribution: Attribution;
  readonly #legacyRequests: LegacyRequests;
  readonly #rounds: InputRounds;
  readonly #toolHeaders: ToolHeaders;
  readonly #envelopes: Envelopes;
  readonly #ended = new AbortController();
  #address: ReturnType<typeof addressOf> | undefined;

  private constructor(transport: Transport, options: SessionOptions) {
    this.#options = options;
    const { definition, caller, onServerRequest, emit } = options;
    this.peer = new Peer(transport, definition.name, {
      notification: (message, origin) => this.notifications.receive(message, origin),
      request: (message, origin) => this.#requested(message, origin),
      unresponsive: (consecutive) => options.unresponsive(this, consecutive),
      closed: (error) => {
        this.#ended.abort(error);
        options.closed(this, error);
      },
      abandoned: (pending) => this.#attribution.abandoned(pending),
      answeredLate: (id) => this.#attribution.answeredLate(id),
      waitingForPerson: () => options.auth?.waitingForPerson?.(),
    });
    const { peer } = this;
    const { signal: ended } = this.#ended;
    const declined = (): void => {
      this.declined += 1;
    };
    const attribution = new Attribution(peer, onServerRequest, () => this.#ping());
    this.#attribution = attribution;
    this.#legacyRequests = new LegacyRequests({
      server: definition.name,
      peer,
      attribution,
      ended,
      declined,
    });
    this.notifications = new Notifications({ peer, attribution, serverRequests: this.#legacyRequests, emit });
    this.#envelopes = new Envelopes(caller);
    this.#toolHeaders = new ToolHeaders((call) => this.#listTools(call), definition.limits.maxPages);
    this.#rounds = new InputRounds({
      ...{ definition, peer, onServerRequest, ended, declined },
      send: (call, params, headers, endsAt) => this.#send(call, params, headers, endsAt),
    });
  }

  static async open(transport: Transport, options: SessionOptions): Promise<Session> {
    const session = new Session(transport, options);
    try {
      await session.peer.open(options.signal);
      session.description = await negotiate(session.peer, options);
      // The connection may have ended during the last message of the negotiation.
      if (session.peer.dead !== undefined) throw session.peer.dead;
    } catch (error) {
      const reason = isPortolanError(error)
        ? error
        : new PortolanError("CONNECTION_CLOSED", "the MCP handshake failed", { cause: error });
      await session.peer.close(reason);
      throw error;
    }
    return session;
  }

  /** Number of server requests that were declined because they could belong to several calls. */
  get ambiguous(): number {
    return this.#attribution.ambiguous;
  }

  get modern(): boolean {
    return (this.description as Description | undefined)?.era === "modern";
  }

  request(call: Call): Promise<JsonObject> {
    if (call.method === "tools/list") return this.#listTools(call);
    if (call.method === "tools/call" && this.modern && this.peer.transport.perRequestStreams)
      return this.#callWithHeaders(call);
    if (!MAY_CAUSE_REQUESTS.has(call.method)) return this.#send(call, call.params);
    return this.modern ? this.#withRounds(call) : this.#sendLegacy(call);
  }

  /** The log level in the envelope of later requests. A legacy server needs a request besides. */
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

  /** Closes when all requests in flight are answered: the server forgot the session, but not necessarily its requests. */
  retire(retired: () => void): void {
    this.peer.onIdle = () => {
      this.peer.onIdle = undefined;
      void this.close().then(retired);
    };
    if (this.peer.pending.size === 0) this.peer.onIdle();
  }

  async #listTools(call: Call): Promise<JsonObject> {
    const page = readToolPage(await this.#send(call, call.params), {
      withHeaders: this.modern && this.peer.transport.perRequestStreams,
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
      // The tool's definition is outdated or unknown. The server refused the request without running it.
      await this.#toolHeaders.refresh(call);
      return await this.#withRounds(call, this.#toolHeaders.of(call));
    }
  }

  /** A legacy server gives no `requestState`. A call that has one would run as a new call, so it is refused. */
  #sendLegacy(call: Call): Promise<JsonObject> {
    const { name } = this.#options.definition;
    const send = async (params: JsonObject | undefined): Promise<JsonObject> => {
      const result = await this.#send(call, params);
      if (result.resultType === "input_required") throw inputRequiredInLegacy(name, call.method);
      // In the legacy era structuredContent is an object; in the modern era null is a valid value.
      if (result.structuredContent !== null) return result;
      const { structuredContent: _absent, ...others } = result;
      return others;
    };
    if (call.params?.requestState === undefined && call.params?.inputResponses === undefined)
      return send(call.params);
    const { requestState, inputResponses: _responses, ...params } = call.params;
    if (requestState === undefined) return send(params);
    return Promise.reject(
      new PortolanError(
        "INPUT_INVALID",
        `requestState is not accepted: ${name} did not issue a requestState`,
        {
          server: name,
          hint: "The earlier call may have had an effect already. Check this before you send the original request again, without requestState and inputResponses.",
        },
      ),
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
    const phase = call.observation && this.#observe(call.observation, call.method, params);
    return this.peer.request({
      method: call.method,
      params,
      meta: withTrace(this.#metaFor(call, params), phase?.meta),
      withProgress: true,
      headers,
      signal: call.signal,
      timeoutMs: call.timeoutMs ?? limits.requestTimeoutMs,
      maxTimeoutMs: call.maxTimeoutMs ?? limits.maxRequestMs,
      endsAt,
      onProgress: call.onProgress,
      onDeclined: call.onDeclined,
      noServerRequests: call.noServerRequests,
      onLog: call.onLog,
      onNotification: call.onNotification,
      onServerRequest: call.onServerRequest,
      callerId: call.caller?.id,
      repeats: call.repeats,
      phase,
    });
  }

  #observe(observation: Observation, method: string, params: JsonObject | undefined): OpenPhase {
    this.#address ??= addressOf(this.#options.definition);
    return observation.phase(describeUpstream(this.description, this.#address, method, params));
  }

  /** The modern era has no ping; every modern server answers `server/discover`. */
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

  #requested(message: RpcRequest, origin: RequestId | undefined): void {
    // A modern server must not send requests, and gets no response.
    if (this.modern) this.declined += 1;
    else void this.#legacyRequests.answer(message, origin);
  }
}
