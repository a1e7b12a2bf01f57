// Session of a legacy client: its capabilities, subscriptions, running requests and open server requests.

import { InFlightMap } from "../../base/collections/in-flight-map.ts";
import { PortolanError } from "../../errors/index.ts";
import {
  hasMethod,
  isObject,
  LEGACY_REVISION,
  LEGACY_REVISIONS,
  RPC,
  type Implementation,
  type JsonObject,
  type LogLevel,
  type LogMessage,
  type RequestId,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
} from "../../model/index.ts";
import type { CallObservers } from "../../telemetry/index.ts";
import { type ServerRequestHandler, type Call, type Caller, canAnswer } from "../../upstream/index.ts";
import { ALLOWS_SERVER_REQUESTS, missingFor } from "../common/capabilities.ts";
import { forLegacy } from "./downgrade.ts";
import { progressTokenOf, readClientInfo, UNNAMED, withoutEnvelope } from "../common/envelope.ts";
import { LISTS, pageOf } from "../common/lists.ts";
import { isLogLevel, isWanted, type LogLevels } from "../common/log-levels.ts";
import {
  resultText,
  RpcRefusal,
  toRpcError,
  withCallId,
  writeError,
  writeNotification,
  writeRequest,
  writeResult,
} from "../common/messages.ts";
import type { ViewListener } from "../common/view.ts";
import type { LargeResults } from "../common/large-results.ts";
import type { AbortPool } from "../common/abort-pool.ts";
import type { TaskIds } from "../common/task-ids.ts";
import type { Reply, RequestContext } from "../common/types.ts";
import { observe } from "../telemetry/observed-reply.ts";

export interface LegacyOptions {
  readonly pageSize: number;
  readonly results: LargeResults;
  readonly levels: LogLevels;
  readonly tasks: TaskIds;
  readonly aborts: AbortPool;
  readonly calls: CallObservers;
}

/** The parts of an HTTP request that its messages need; a two-way channel has none. */
type HttpPart = Pick<RequestContext, "headers" | "peer">;

const MAX_SUBSCRIPTIONS = 1_000;
const MAX_SUBSCRIBED_CHARS = 8 * 1024;
const MAX_INITIALIZE_CHARS = 64 * 1024;
const ROOTS_MS = 100;
/** The level of a client that set none: most servers log at this level by default. */
const DEFAULT_LEVEL: LogLevel = "info";

export class LegacySession implements ViewListener {
  readonly id: string;
  readonly context: RequestContext;
  readonly revision: string;
  /** Sends a message that belongs to no request of the client. */
  send: (text: string) => void = () => {};
  readonly #options: LegacyOptions;
  readonly #clientInfo: Implementation;
  readonly #capabilities: JsonObject;
  readonly #inFlight = new InFlightMap<RequestId, AbortController>();
  readonly #serverRequests = new Map<RequestId, (answer: RpcResponse | undefined) => void>();
  readonly #subscriptions = new Map<string, Promise<() => Promise<void>>>();
  readonly #removeListener: () => void;
  /** On a two-way channel all calls share one function, because every message takes the same way. */
  #sharedHandler: ServerRequestHandler | undefined;
  /** Ends the server sessions that were opened for this client. */
  readonly #ended = new AbortController();
  #upstreamCaller: Caller;
  #level: LogLevel | undefined;
  #nextId = 1;
  #rootsScheduled = false;
  #closed = false;

  constructor(id: string, context: RequestContext, params: JsonObject | undefined, options: LegacyOptions) {
    this.id = id;
    this.#options = options;
    // The params stay in memory while the session lasts, and a caller can have many sessions.
    if (JSON.stringify(params ?? {}).length > MAX_INITIALIZE_CHARS)
      throw new RpcRefusal(
        RPC.INVALID_PARAMS,
        `The params of initialize are longer than ${MAX_INITIALIZE_CHARS} characters`,
        { status: 400 },
      );
    const { protocolVersion, capabilities, clientInfo } = params ?? {};
    this.revision = LEGACY_REVISIONS.includes(protocolVersion as string)
      ? (protocolVersion as string)
      : LEGACY_REVISION;
    this.#capabilities = isObject(capabilities) ? capabilities : {};
    this.context = { ...context, view: context.view.for(this.#capabilities) };
    this.#clientInfo = readClientInfo(clientInfo) ?? UNNAMED;
    this.#upstreamCaller = this.#toUpstreamCaller();
    this.#removeListener = this.context.view.addListener(this);
  }

  /** Sends every message on this channel. */
  useChannel(write: (text: string) => void): void {
    this.send = write;
    this.#sharedHandler = this.#createHandler(write);
  }

  /** Number of running requests of the client. */
  get busy(): number {
    return this.#inFlight.size;
  }

  /** The response to `initialize`. */
  initializeResult(id: RequestId): string {
    const { info, capabilities, instructions } = this.context.view.hubView.describe();
    const { extensions: _modernOnly, ...legacy } = capabilities;
    return writeResult(
      id,
      JSON.stringify({
        protocolVersion: this.revision,
        capabilities: legacy,
        serverInfo: info,
        instructions,
      }),
    );
  }

  /** Answers the request that began this session. */
  initialize(message: RpcRequest, reply: Reply, http?: HttpPart): void {
    this.#observed(message, reply, http).end(this.initializeResult(message.id));
  }

  handle(message: RpcMessage, reply: Reply, http?: HttpPart): void {
    if (!hasMethod(message)) this.#answered(message);
    else if ("id" in message && message.id != null)
      this.#requested(message, this.#observed(message, reply, http), http?.headers);
    else this.#notified(message);
  }

  listChanged(list: "tools" | "prompts" | "resources"): void {
    this.send(writeNotification(`notifications/${list}/list_changed`));
  }

  resourceUpdated(uri: string): void {
    if (this.#subscriptions.has(uri))
      this.send(writeNotification("notifications/resources/updated", { uri }));
  }

  logged(message: LogMessage): void {
    if (!isWanted(message.level, this.#level ?? DEFAULT_LEVEL)) return;
    let text: string;
    try {
      text = writeNotification("notifications/message", message);
    } catch {
      // The message is nested too deeply to be serialised, so it is dropped.
      return;
    }
    this.send(text);
  }

  /** Cancels running requests and releases subscriptions. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#removeListener();
    for (const controller of this.#inFlight.values())
      controller.abort(new PortolanError("CANCELLED", "the client's session ended"));
    for (const answer of [...this.#serverRequests.values()]) answer(undefined);
    for (const subscribed of this.#subscriptions.values())
      subscribed.then((release) => release()).catch(() => {});
    this.#subscriptions.clear();
    this.#ended.abort();
  }

  #observed(message: RpcRequest, reply: Reply, http: HttpPart | undefined): Reply {
    const { calls } = this.#options;
    if (!calls.active) return reply;
    const { revision } = this;
    const peer = http?.peer ?? this.context.peer;
    const side = { era: "legacy", revision, client: this.#clientInfo, peer } as const;
    return observe(calls, message, this.context, side, reply);
  }

  #toUpstreamCaller(): Caller {
    return {
      id: this.id,
      clientInfo: this.#clientInfo,
      capabilities: this.#capabilities,
      era: "legacy",
      ended: this.#ended.signal,
      logLevel: this.#level ?? DEFAULT_LEVEL,
      account: this.context.caller.name,
      scopes: this.context.caller.scopes,
    };
  }

  #requested(message: RpcRequest, reply: Reply, headers: RequestContext["headers"]): void {
    const { id, method, params } = message;
    // A request is identified by its id, so a second one with the same id must wait for the first.
    if (this.#inFlight.has(id)) {
      const error = {
        code: RPC.INVALID_REQUEST,
        message: `Another request with the id ${JSON.stringify(id)} is still running`,
      };
      reply.observation?.failed(undefined, error.code);
      return reply.end(writeError(id, error));
    }
    this.#perform(method, params, message, reply, headers).then(
      (resultText) => reply.end(writeResult(id, resultText)),
      (thrown: unknown) => {
        const error = toRpcError(thrown, false, message, this.context.caller.name);
        reply.observation?.failed(thrown, error.code);
        reply.end(writeError(id, withCallId(error, thrown, reply.observation)));
      },
    );
  }

  #perform(
    method: string,
    params: JsonObject | undefined,
    message: RpcRequest,
    reply: Reply,
    headers: RequestContext["headers"],
  ): Promise<string> {
    switch (method) {
      case "tools/call":
        return this.#forward(message, reply, headers);
      case "ping":
        return Promise.resolve("{}");
      case "initialize":
        return Promise.reject(new RpcRefusal(RPC.INVALID_REQUEST, "This session is already initialized"));
      case "logging/setLevel":
        return this.#setLevel(params?.level);
      case "resources/subscribe":
        return this.#subscribe(params?.uri);
      case "resources/unsubscribe":
        return this.#unsubscribe(params?.uri);
      case "server/discover":
      case "subscriptions/listen":
        return Promise.reject(new RpcRefusal(RPC.METHOD_NOT_FOUND, `Method not found: ${method}`));
      default:
        return LISTS[method] === undefined
          ? this.#forward(message, reply, headers)
          : this.#list(method, params);
    }
  }

  async #list(method: string, params: JsonObject | undefined): Promise<string> {
    const { view } = this.context;
    const whole = await view.hubView.request({ method });
    const page = pageOf(method, whole, params?.cursor, this.#options.pageSize);
    return view.listText(page, "legacy", () => JSON.stringify(forLegacy(method, page)));
  }

  async #forward(
    { id, method, params }: RpcRequest,
    reply: Reply,
    headers: RequestContext["headers"],
  ): Promise<string> {
    const { results, tasks, aborts } = this.#options;
    const { caller } = this.context;
    const stored = results.read(this.context, method, params ?? {});
    if (stored !== undefined) return JSON.stringify(stored);
    const controller = aborts.take();
    this.#inFlight.set(id, controller);
    reply.onCancel = () =>
      controller.abort(new PortolanError("CANCELLED", `the client disconnected, so ${method} was cancelled`));
    const token = progressTokenOf(params?._meta);
    const call: Call = {
      method,
      params: tasks.verify(caller.name, method, withoutEnvelope(params)),
      caller: headers === undefined ? this.#upstreamCaller : { ...this.#upstreamCaller, headers },
      signal: controller.signal,
      observation: reply.observation,
      onServerRequest:
        ALLOWS_SERVER_REQUESTS.has(method) && reply.canStream && canAnswer(this.#capabilities)
          ? (this.#sharedHandler ?? this.#createHandler((text) => reply.send(text)))
          : undefined,
      onElicitationComplete: (elicitationId) => {
        if (!this.#closed)
          this.send(writeNotification("notifications/elicitation/complete", { elicitationId }));
      },
      onProgress:
        token === undefined || !reply.canStream
          ? undefined
          : (progress) =>
              reply.send(writeNotification("notifications/progress", { progressToken: token, ...progress })),
      onLog: reply.canStream
        ? (logged) => {
            if (isWanted(logged.level, this.#level ?? DEFAULT_LEVEL))
              reply.send(writeNotification("notifications/message", logged));
          }
        : undefined,
    };
    try {
      const result = await this.context.view.hubView.request(call);
      const limited = results.limit(this.context, method, params ?? {}, result);
      reply.observation?.succeeded(limited);
      return resultText(forLegacy(method, tasks.sign(caller.name, limited)));
    } finally {
      this.#inFlight.take(id);
      reply.onCancel = undefined;
      // A handler of a server request may still use the signal.
      if (call.onServerRequest === undefined) aborts.give(controller);
    }
  }

  /** Returns a function that sends server requests to the client, on the stream of the call that caused them. */
  #createHandler(send: (text: string) => void): ServerRequestHandler {
    return ({ method, params, signal }) => {
      if (this.#closed || signal.aborted || missingFor({ method, params }, this.#capabilities) !== undefined)
        return Promise.resolve(undefined);
      const id = `portolan-${this.#nextId++}`;
      return new Promise((resolve, reject) => {
        const onAbort = (): void => {
          send(writeNotification("notifications/cancelled", { requestId: id, reason: "no longer needed" }));
          settle(undefined);
        };
        const settle = (answer: RpcResponse | undefined): void => {
          this.#serverRequests.delete(id);
          signal.removeEventListener("abort", onAbort);
          if (answer?.error != null) reject(new Error(answer.error.message));
          else resolve(answer?.result);
        };
        this.#serverRequests.set(id, settle);
        signal.addEventListener("abort", onAbort, { once: true });
        this.context.caller.limits.expectAnswer();
        send(writeRequest(id, method, this.#options.tasks.sign(this.context.caller.name, params)));
      });
    };
  }

  #answered(message: RpcResponse): void {
    if (message.id !== null) this.#serverRequests.get(message.id)?.(message);
  }

  #notified({ method, params }: RpcNotification): void {
    if (method === "notifications/cancelled") {
      const controller = this.#inFlight.get(params?.requestId as RequestId);
      controller?.abort(new PortolanError("CANCELLED", "the client cancelled the request"));
    } else if (method === "notifications/roots/list_changed") {
      this.#rootsChanged();
    }
  }

  /** Every server is notified, so changes within a short time are combined. */
  #rootsChanged(): void {
    if (this.#rootsScheduled) return;
    this.#rootsScheduled = true;
    setTimeout(() => {
      this.#rootsScheduled = false;
      if (!this.#closed) this.context.view.hubView.notify("notifications/roots/list_changed");
    }, ROOTS_MS).unref();
  }

  async #setLevel(level: unknown): Promise<string> {
    if (!isLogLevel(level)) throw new RpcRefusal(RPC.INVALID_PARAMS, "level is not a log level");
    this.#level = level;
    this.#upstreamCaller = this.#toUpstreamCaller();
    await this.#options.levels.request(level);
    return "{}";
  }

  async #subscribe(uri: unknown): Promise<string> {
    if (typeof uri !== "string") throw new RpcRefusal(RPC.INVALID_PARAMS, "uri must be a string");
    if (uri.length > MAX_SUBSCRIBED_CHARS)
      throw new RpcRefusal(RPC.INVALID_PARAMS, `uri is longer than ${MAX_SUBSCRIBED_CHARS} characters`);
    if (this.#subscriptions.size >= MAX_SUBSCRIPTIONS)
      throw new RpcRefusal(
        RPC.INVALID_PARAMS,
        `A session can have at most ${MAX_SUBSCRIPTIONS} subscriptions`,
      );
    let subscribed = this.#subscriptions.get(uri);
    if (subscribed === undefined) {
      subscribed = this.context.view.hubView.subscribe(uri);
      this.#subscriptions.set(uri, subscribed);
      subscribed.catch(() => this.#subscriptions.delete(uri));
    }
    await subscribed;
    return "{}";
  }

  async #unsubscribe(uri: unknown): Promise<string> {
    if (typeof uri !== "string") throw new RpcRefusal(RPC.INVALID_PARAMS, "uri must be a string");
    const subscribed = this.#subscriptions.get(uri);
    this.#subscriptions.delete(uri);
    await (
      await subscribed
    )?.();
    return "{}";
  }
}
