// What a server says without being asked: its notifications, passed on to those whom they concern.

import {
  isObject,
  type JsonObject,
  type LogMessage,
  META,
  type RequestId,
  type RpcNotification,
} from "../../model/index.ts";
import type { Attribution } from "../server-requests/attribution.ts";
import type { OpenQuestions } from "../server-requests/legacy-requests.ts";
import type { Peer } from "./peer.ts";
import type { UpstreamEvents } from "../upstream.ts";

/** Hears what concerns no call. */
export type Notice = <E extends keyof UpstreamEvents>(event: E, ...args: UpstreamEvents[E]) => void;

export interface NoticesOptions {
  readonly peer: Peer;
  readonly attribution: Attribution;
  readonly questions: OpenQuestions;
  readonly notice: Notice;
}

export class Notices {
  /** Who waits for a subscription stream to be acknowledged. */
  readonly acknowledged: Map<RequestId, () => void> = new Map();
  readonly #options: NoticesOptions;

  constructor(options: NoticesOptions) {
    this.#options = options;
  }

  heard({ method, params }: RpcNotification, origin: RequestId | undefined): void {
    const { notice, peer, questions } = this.#options;
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
        peer.endSubscription(id);
        return questions.withdraw(id, params?.reason);
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

  /** For the call that opened the stream, and nobody else. */
  #onStream(method: string, params: JsonObject | undefined, origin: RequestId | undefined): void {
    const meta = isObject(params?._meta) ? params._meta : {};
    const id = (meta[META.SUBSCRIPTION_ID] ?? origin) as RequestId;
    this.#options.peer.pending.get(id)?.request.onNotification?.(method, params ?? {});
  }

  #logged(message: LogMessage, origin: RequestId | undefined): void {
    const hear = this.#options.attribution.hearer(origin);
    if (hear === undefined) return this.#options.notice("log", message);
    try {
      hear(message);
    } catch {
      // A broken listener must not break the call it listens to.
    }
  }

  /** A modern notice names the stream that it belongs to; one of a stream that was given up is nobody's. */
  #isWanted(params: JsonObject): boolean {
    const id = isObject(params._meta) ? params._meta[META.SUBSCRIPTION_ID] : undefined;
    return id === undefined || this.#options.peer.pending.has(id as RequestId);
  }
}
