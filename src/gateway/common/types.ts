// What passes between the parts of the gateway: a request's way back, and who made it.

import type { Principal } from "../access/access-control.ts";
import type { Offer } from "./view.ts";

/** The way back to the client that made a request. Messages are written JSON. */
export interface Reply {
  /** Whether anything can be said before the answer. */
  readonly canStream: boolean;
  /** Something before the answer: progress, a log message, a question. */
  send(text: string): void;
  /** The answer; nothing follows it. The status matters to HTTP alone. */
  end(text: string, status?: number): void;
  /** Called when the client has gone, or has said that it does not want the answer. */
  gone: (() => void) | undefined;
}

/** Who made a request, and what it is about. */
export interface Visit {
  readonly principal: Principal;
  readonly offer: Offer;
  /** The channel that only this client uses, where there is such a thing. */
  readonly channel?: string | undefined;
  /** Headers of the HTTP request, where a server that is carried out here may want one. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>> | undefined;
}
