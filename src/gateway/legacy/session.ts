// One session of a legacy client: what it can answer, what it has asked for, and what is on its way to it.

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
import { type ServerRequestHandler, type Call, type Caller, canAnswer } from "../../upstream/index.ts";
import { missingFor } from "../common/capabilities.ts";
import { forLegacy } from "./downgrade.ts";
import { progressTokenOf, withoutEnvelope } from "../common/envelope.ts";
import { LISTS, pageOf } from "../common/lists.ts";
import { isLogLevel, isWanted, type LogLevels } from "../common/log-levels.ts";
import {
  RpcRefusal,
  toRpcError,
  writeError,
  writeNotification,
  writeRequest,
  writeResult,
} from "../common/messages.ts";
import type { Hearer } from "../common/view.ts";
import type { Results } from "../common/large-results.ts";
import { returnStop, takeStop } from "../common/abort-pool.ts";
import type { TaskIds } from "../common/task-ids.ts";
import type { Reply, Visit } from "../common/types.ts";

export interface LegacyOptions {
  readonly pageSize: number;
  readonly results: Results;
  readonly levels: LogLevels;
  readonly tasks: TaskIds;
}

const MAX_SUBSCRIPTIONS = 1_000;
const MAX_SUBSCRIBED_CHARS = 8 * 1024;
const MAX_INITIALIZE_CHARS = 64 * 1024;
const ROOTS_MS = 100;
const MAY_ASK = new Set(["tools/call", "prompts/get", "resources/read"]);
/** A client that never said how much it wants to hear is told what most servers tell unasked. */
const DEFAULT_LEVEL: LogLevel = "info";

export class LegacySession implements Hearer {
  readonly id: string;
  readonly visit: Visit;
  readonly revision: string;
  /** Where messages go that belong to no request of the client's. */
  tell: (text: string) => void = () => {};
  readonly #options: LegacyOptions;
  readonly #clientInfo: Implementation;
  readonly #capabilities: JsonObject;
  readonly #inFlight = new Map<RequestId, AbortController>();
  readonly #questions = new Map<RequestId, (answer: RpcResponse | undefined) => void>();
  readonly #subscriptions = new Map<string, Promise<() => Promise<void>>>();
  readonly #leave: () => void;
  /** Where all requests share one channel it does not matter which of them a question is about. */
  #sharedAsk: ServerRequestHandler | undefined;
  /** Closes the sessions with servers that were opened for this client. */
  readonly #ended = new AbortController();
  #caller: Caller;
  #level: LogLevel | undefined;
  #nextId = 1;
  #telling = false;
  #closed = false;

  constructor(id: string, visit: Visit, params: JsonObject | undefined, options: LegacyOptions) {
    this.id = id;
    this.visit = visit;
    this.#options = options;
    // It stays in memory for as long as the session lasts, and a caller can have many sessions.
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
    this.#clientInfo = isObject(clientInfo)
      ? (clientInfo as Implementation)
      : { name: "unnamed", version: "unknown" };
    this.#caller = this.#callerNow();
    this.#leave = visit.offer.join(this);
  }

  /** Everything goes to and comes from this one channel. */
  useChannel(write: (text: string) => void): void {
    this.tell = write;
    this.#sharedAsk = this.#asker(write);
  }

  /** Requests of the client's that are not answered yet. */
  get busy(): number {
    return this.#inFlight.size;
  }

  /** The answer to `initialize`. */
  greet(id: RequestId): string {
    const { info, capabilities, instructions } = this.visit.offer.view.describe();
    const { extensions: _modern, ...legacy } = capabilities;
    return writeResult(
      id,
      JSON.stringify({
        protocolVersion: this.revision,
        capabilities: legacy,
        serverInfo: info,
        ...(instructions === undefined ? {} : { instructions }),
      }),
    );
  }

  /** `headers` are those of the request that brought the message, where a server may want to know. */
  handle(message: RpcMessage, reply: Reply, headers?: Visit["headers"]): void {
    if (!hasMethod(message)) this.#answered(message);
    else if ("id" in message && message.id != null) this.#requested(message, reply, headers);
    else this.#notified(message);
  }

  listChanged(list: "tools" | "prompts" | "resources"): void {
    this.tell(writeNotification(`notifications/${list}/list_changed`));
  }

  resourceUpdated(uri: string): void {
    if (this.#subscriptions.has(uri))
      this.tell(writeNotification("notifications/resources/updated", { uri }));
  }

  logged(message: LogMessage): void {
    if (!isWanted(message.level, this.#level ?? DEFAULT_LEVEL)) return;
    let text: string;
    try {
      text = writeNotification("notifications/message", message);
    } catch {
      // Nested deeper than can be written: nobody needs such a message.
      return;
    }
    this.tell(text);
  }

  /** Cancels what is under way and forgets what was asked for. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#leave();
    for (const stop of this.#inFlight.values())
      stop.abort(new PortolanError("CANCELLED", "the client's session ended"));
    for (const answer of [...this.#questions.values()]) answer(undefined);
    for (const subscribed of this.#subscriptions.values())
      subscribed.then((release) => release()).catch(() => {});
    this.#subscriptions.clear();
    this.#ended.abort();
  }

  #callerNow(): Caller {
    return {
      id: this.id,
      clientInfo: this.#clientInfo,
      capabilities: this.#capabilities,
      era: "legacy",
      ended: this.#ended.signal,
      logLevel: this.#level ?? DEFAULT_LEVEL,
      account: this.visit.principal.name,
      scopes: this.visit.principal.scopes,
    };
  }

  #requested(message: RpcRequest, reply: Reply, headers: Visit["headers"]): void {
    const { id, method, params } = message;
    // A request is known by its id while it is under way; a second one of that id could not be told apart.
    if (this.#inFlight.has(id))
      return reply.end(
        writeError(id, {
          code: RPC.INVALID_REQUEST,
          message: `Request ${JSON.stringify(id)} is still under way`,
        }),
      );
    this.#perform(method, params, message, reply, headers).then(
      (resultText) => reply.end(writeResult(id, resultText)),
      (error: unknown) => reply.end(writeError(id, toRpcError(error, false))),
    );
  }

  #perform(
    method: string,
    params: JsonObject | undefined,
    message: RpcRequest,
    reply: Reply,
    headers: Visit["headers"],
  ): Promise<string> {
    switch (method) {
      case "tools/call":
        return this.#relay(message, reply, headers);
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
          ? this.#relay(message, reply, headers)
          : this.#list(method, params);
    }
  }

  async #list(method: string, params: JsonObject | undefined): Promise<string> {
    const { offer } = this.visit;
    const whole = await offer.view.request({ method });
    return offer.listText(method, pageOf(method, whole, params?.cursor, this.#options.pageSize), "legacy");
  }

  async #relay({ id, method, params }: RpcRequest, reply: Reply, headers: Visit["headers"]): Promise<string> {
    const { results, tasks } = this.#options;
    const { principal } = this.visit;
    const kept = results.read(this.visit, method, params ?? {});
    if (kept !== undefined) return JSON.stringify(kept);
    const stop = takeStop();
    this.#inFlight.set(id, stop);
    reply.gone = () =>
      stop.abort(new PortolanError("CANCELLED", `the client is gone; ${method} was cancelled`));
    const token = progressTokenOf(params?._meta);
    const call: Call = {
      method,
      params: tasks.open(principal.name, method, withoutEnvelope(params)),
      caller: headers === undefined ? this.#caller : { ...this.#caller, headers },
      signal: stop.signal,
      onServerRequest:
        MAY_ASK.has(method) && reply.canStream && canAnswer(this.#capabilities)
          ? (this.#sharedAsk ?? this.#asker((text) => reply.send(text)))
          : undefined,
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
      const result = await this.visit.offer.view.request(call);
      const fitting = results.fit(this.visit, method, params ?? {}, result);
      return JSON.stringify(forLegacy(method, tasks.seal(principal.name, fitting)));
    } finally {
      this.#inFlight.delete(id);
      reply.gone = undefined;
      // Who could be asked in between may still look at it.
      if (call.onServerRequest === undefined) returnStop(stop);
    }
  }

  /** Puts a server's question to the client by the old means: a request on the stream of the call that caused it. */
  #asker(send: (text: string) => void): ServerRequestHandler {
    return ({ method, params, signal }) => {
      if (this.#closed || signal.aborted || missingFor({ method, params }, this.#capabilities) !== undefined)
        return Promise.resolve(undefined);
      const id = `portolan-${this.#nextId++}`;
      return new Promise((resolve, reject) => {
        const withdrawn = (): void => {
          send(writeNotification("notifications/cancelled", { requestId: id, reason: "no longer needed" }));
          settle(undefined);
        };
        const settle = (answer: RpcResponse | undefined): void => {
          this.#questions.delete(id);
          signal.removeEventListener("abort", withdrawn);
          if (answer?.error != null) reject(new Error(answer.error.message));
          else resolve(answer?.result);
        };
        this.#questions.set(id, settle);
        signal.addEventListener("abort", withdrawn, { once: true });
        this.visit.principal.gate.expectAnswer();
        send(writeRequest(id, method, this.#options.tasks.seal(this.visit.principal.name, params)));
      });
    };
  }

  #answered(message: RpcResponse): void {
    if (message.id !== null) this.#questions.get(message.id)?.(message);
  }

  #notified({ method, params }: RpcNotification): void {
    if (method === "notifications/cancelled") {
      const stop = this.#inFlight.get(params?.requestId as RequestId);
      stop?.abort(new PortolanError("CANCELLED", "the client cancelled the request"));
    } else if (method === "notifications/roots/list_changed") {
      this.#rootsChanged();
    }
  }

  /** Every server is told, so not more often than makes sense. */
  #rootsChanged(): void {
    if (this.#telling) return;
    this.#telling = true;
    setTimeout(() => {
      this.#telling = false;
      if (!this.#closed) this.visit.offer.view.notify("notifications/roots/list_changed");
    }, ROOTS_MS).unref();
  }

  async #setLevel(level: unknown): Promise<string> {
    if (!isLogLevel(level)) throw new RpcRefusal(RPC.INVALID_PARAMS, "level is not a log level");
    this.#level = level;
    this.#caller = this.#callerNow();
    await this.#options.levels.want(level);
    return "{}";
  }

  async #subscribe(uri: unknown): Promise<string> {
    if (typeof uri !== "string") throw new RpcRefusal(RPC.INVALID_PARAMS, "uri must be a string");
    if (uri.length > MAX_SUBSCRIBED_CHARS)
      throw new RpcRefusal(RPC.INVALID_PARAMS, `uri is longer than ${MAX_SUBSCRIBED_CHARS} characters`);
    if (this.#subscriptions.size >= MAX_SUBSCRIPTIONS)
      throw new RpcRefusal(RPC.INVALID_PARAMS, `A session can have ${MAX_SUBSCRIPTIONS} subscriptions`);
    let subscribed = this.#subscriptions.get(uri);
    if (subscribed === undefined) {
      subscribed = this.visit.offer.view.subscribe(uri);
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
