// Types that both protocol eras share: the reply to a request, and the context in which a client made it.

import type { Observation } from "../../telemetry/index.ts";
import type { AuthenticatedCaller } from "../access/types.ts";
import type { Peer } from "../telemetry/observed-reply.ts";
import type { GatewayView } from "./view.ts";

/** The reply to one request of a client. Messages are serialised JSON. */
export interface Reply {
  /** True if messages can be sent before the response. */
  readonly canStream: boolean;
  /** Sends a message before the response: progress, a log message, a server request. */
  send(text: string): void;
  /** Sends the response, which is the last message. Only HTTP uses the status. */
  end(text: string, status?: number): void;
  /** Called when the client disconnects or cancels the request. */
  onCancel: (() => void) | undefined;
  /** Observes the request; absent if nobody is interested. */
  readonly observation?: Observation;
}

/** A reply that drops every message: for notifications, which have no response. */
export const NO_REPLY: Reply = { canStream: false, send() {}, end() {}, onCancel: undefined };

/** The caller of a request, and the view that its address selects. */
export interface RequestContext {
  readonly caller: AuthenticatedCaller;
  readonly view: GatewayView;
  /** Id of the two-way channel that only this client uses; undefined over plain HTTP. */
  readonly channel?: string;
  /** Headers of the HTTP request, if a server of the view is an mcpfile, whose templates may use them. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
  /** The connection of the client, if observers want to know it. */
  readonly peer?: Peer;
}
