// Notifications of a server: passes each one to the call or the listeners that it concerns.

import {
  isObject,
  type JsonObject,
  type LogMessage,
  META,
  type RequestId,
  type RpcNotification,
} from "../../model/index.ts";
import type { Attribution } from "../server-requests/attribution.ts";
import type { LegacyRequests } from "../server-requests/answers.ts";
import type { Peer } from "./peer.ts";
import type { UpstreamEvents } from "../upstream.ts";

/** Receives the notifications that belong to no call. */
export type EmitEvent = <E extends keyof UpstreamEvents>(event: E, ...args: UpstreamEvents[E]) => void;

export interface NotificationsOptions {
  readonly peer: Peer;
  readonly attribution: Attribution;
  readonly serverRequests: LegacyRequests;
  readonly emit: EmitEvent;
}

export class Notifications {
  /** Callbacks that wait for a subscription stream to be acknowledged. */
  readonly acknowledged: Map<RequestId, () => void> = new Map();
  readonly #options: NotificationsOptions;

  constructor(options: NotificationsOptions) {
    this.#options = options;
  }

  receive({ method, params }: RpcNotification, origin: RequestId | undefined): void {
    const { emit, peer, serverRequests } = this.#options;
    switch (method) {
      case "notifications/tools/list_changed":
        return emit("toolsChanged");
      case "notifications/prompts/list_changed":
        return emit("promptsChanged");
      case "notifications/resources/list_changed":
        return emit("resourcesChanged");
      case "notifications/resources/updated":
        return typeof params?.uri === "string" && this.#isWanted(params)
          ? emit("resourceUpdated", params.uri)
          : undefined;
      case "notifications/message":
        return isObject(params) ? this.#logged(params as LogMessage, origin) : undefined;
      case "notifications/cancelled": {
        const id = params?.requestId as RequestId;
        // The server ends a subscription stream of ours, or cancels a request of its own.
        peer.endSubscription(id);
        return serverRequests.cancel(id, params?.reason);
      }
      case "notifications/subscriptions/acknowledged": {
        const meta = isObject(params?._meta) ? params._meta : {};
        this.acknowledged.get(meta[META.SUBSCRIPTION_ID] as RequestId)?.();
        return this.#onStream(method, params, origin);
      }
      case "notifications/tasks":
        return this.#onStream(method, params, origin);
    }
  }

  /** Passes the notification to the call that opened the stream. */
  #onStream(method: string, params: JsonObject | undefined, origin: RequestId | undefined): void {
    const meta = isObject(params?._meta) ? params._meta : {};
    const id = (meta[META.SUBSCRIPTION_ID] ?? origin) as RequestId;
    this.#options.peer.pending.get(id)?.request.onNotification?.(method, params ?? {});
  }

  #logged(message: LogMessage, origin: RequestId | undefined): void {
    const listener = this.#options.attribution.logListener(origin);
    if (listener === undefined) return this.#options.emit("log", message);
    try {
      listener(message);
    } catch {
      // An exception in a listener must not break the call.
    }
  }

  /** A modern notification names its stream. It is ignored when that stream was closed. */
  #isWanted(params: JsonObject): boolean {
    const id = isObject(params._meta) ? params._meta[META.SUBSCRIPTION_ID] : undefined;
    return id === undefined || this.#options.peer.pending.has(id as RequestId);
  }
}
