// State of a relayed client: what a new gateway must know about it, and the requests that wait for a response.

import {
  hasMethod,
  isObject,
  type JsonObject,
  META,
  type RequestId,
  type RpcMessage,
  type RpcResponse,
} from "../../model/index.ts";

/** A request of the client without a response. */
interface Pending {
  readonly method: string;
  /** The message, if a new gateway may get it again. */
  readonly repeat?: RpcMessage;
}

/** The requests that end with a lost connection. */
export interface Loss {
  /** Requests that may or may not have run. */
  readonly failed: readonly RequestId[];
  /** Requests of servers that the client need not answer any more. */
  readonly withdrawn: readonly RequestId[];
}

/** These requests only read or set a state, so a new gateway gets them again. A call of a tool may have an effect. */
const REPEATABLE = new Set([
  "initialize",
  "ping",
  "server/discover",
  "tools/list",
  "prompts/list",
  "prompts/get",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "resources/subscribe",
  "resources/unsubscribe",
  "completion/complete",
  "logging/setLevel",
  "subscriptions/listen",
]);
const MAX_SUBSCRIPTIONS = 1_000;

export class ClientState {
  readonly #pending = new Map<RequestId, Pending>();
  readonly #serverRequests = new Set<RequestId>();
  readonly #subscribed = new Map<string, JsonObject>();
  #initialize: { readonly params: JsonObject; readonly result: JsonObject } | undefined;
  #initialized = false;
  #level: JsonObject | undefined;

  /** Records a message of the client. */
  sent(message: RpcMessage): void {
    if (!hasMethod(message)) return void this.#serverRequests.delete(message.id as RequestId);
    const { method, params = {} } = message;
    if ("id" in message && message.id != null) {
      this.#pending.set(message.id, { method, repeat: REPEATABLE.has(method) ? message : undefined });
      return;
    }
    // A cancelled request gets no response.
    if (method === "notifications/cancelled") this.#pending.delete(params.requestId as RequestId);
    if (method === "notifications/initialized") this.#initialized = true;
  }

  /** Records a message of the gateway. */
  received(message: RpcMessage): void {
    if (hasMethod(message)) {
      if ("id" in message && message.id != null) this.#serverRequests.add(message.id);
      else if (message.method === "notifications/cancelled")
        this.#serverRequests.delete(message.params?.requestId as RequestId);
      return;
    }
    const pending = this.#pending.get(message.id as RequestId);
    if (pending === undefined) return;
    this.#pending.delete(message.id as RequestId);
    if (pending.repeat !== undefined && isObject(message.result)) this.#settled(pending, message);
  }

  /** Whether a message answers a request of a server that still waits. */
  isAnswer(message: RpcMessage): boolean {
    return !hasMethod(message) && this.#serverRequests.has(message.id as RequestId);
  }

  /** Removes the requests that end with the connection. */
  lost(): Loss {
    const failed = [...this.#pending].flatMap(([id, { repeat }]) => (repeat === undefined ? [id] : []));
    for (const id of failed) this.#pending.delete(id);
    const withdrawn = [...this.#serverRequests];
    this.#serverRequests.clear();
    return { failed, withdrawn };
  }

  /** All requests fail: there is no further gateway. */
  failAll(): readonly RequestId[] {
    const ids = [...this.#pending.keys()];
    this.#pending.clear();
    return ids;
  }

  /** The requests that bring a new gateway to the state of the old one, in order. */
  handshake(): { readonly method: string; readonly params: JsonObject }[] {
    if (this.#initialize === undefined) return [];
    const level = this.#level === undefined ? [] : [{ method: "logging/setLevel", params: this.#level }];
    return [
      { method: "initialize", params: this.#initialize.params },
      ...level,
      ...[...this.#subscribed.values()].map((params) => ({ method: "resources/subscribe", params })),
    ];
  }

  get isInitialized(): boolean {
    return this.#initialized;
  }

  /** Requests that wait for a response, and may be sent again. */
  repeated(): RpcMessage[] {
    return [...this.#pending.values()].flatMap(({ repeat }) => (repeat === undefined ? [] : [repeat]));
  }

  /** The lists whose changes the client was promised to hear of. */
  get lists(): readonly string[] {
    const { capabilities } = this.#initialize?.result ?? {};
    if (!this.#initialized || !isObject(capabilities)) return [];
    return ["tools", "prompts", "resources"].filter((list) => {
      const own = capabilities[list];
      return isObject(own) && own["listChanged"] === true;
    });
  }

  /** True for a stream that the client has opened with this id. */
  isListening(id: unknown): boolean {
    return this.#pending.get(id as RequestId)?.method === "subscriptions/listen";
  }

  #settled({ method, repeat }: Pending, { result }: RpcResponse): void {
    const params = (repeat !== undefined && hasMethod(repeat) ? repeat.params : undefined) ?? {};
    // In the modern protocol, a request declares its revision itself, and there is no state.
    if (isObject(params._meta) && META.PROTOCOL_VERSION in params._meta) return;
    const { uri } = params;
    if (method === "initialize") this.#initialize = { params, result: result as JsonObject };
    else if (method === "logging/setLevel") this.#level = params;
    else if (method === "resources/unsubscribe") this.#subscribed.delete(String(uri));
    else if (method === "resources/subscribe" && this.#subscribed.size < MAX_SUBSCRIPTIONS)
      this.#subscribed.set(String(uri), params);
  }
}
