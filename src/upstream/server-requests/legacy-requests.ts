// Requests that a legacy server sends to its client: each is passed to a handler until it is answered, cancelled or too late.

import type { RequestId, RpcRequest } from "../../model/index.ts";
import type { Attribution } from "./attribution.ts";
import type { Peer } from "../session/peer.ts";
import { answerRequest, isClientFeature } from "./answers.ts";

export interface LegacyRequestsOptions {
  readonly peer: Peer;
  readonly attribution: Attribution;
  /** Aborted when the connection ends, and all its server requests with it. */
  readonly ended: AbortSignal;
  readonly declined: () => void;
}

export class LegacyRequests {
  readonly #options: LegacyRequestsOptions;
  readonly #open = new Map<RequestId, AbortController>();

  constructor(options: LegacyRequestsOptions) {
    this.#options = options;
  }

  async answer(message: RpcRequest, origin: RequestId | undefined): Promise<void> {
    const { peer, attribution, ended, declined } = this.#options;
    const controller = new AbortController();
    this.#open.set(message.id, controller);
    const signal = AbortSignal.any([controller.signal, ended]);
    // A ping belongs to no call.
    const claim = isClientFeature(message.method)
      ? await attribution.claim(message.params, origin, controller)
      : undefined;
    if (!signal.aborted) {
      const { id, method, params = {} } = message;
      const related = origin !== undefined;
      const answer = await answerRequest(claim?.handler, { id, method, params, signal, related }, () => {
        declined();
        claim?.cause?.onDeclined?.({ method, params });
      });
      if (!signal.aborted) peer.respond(message.id, answer);
    }
    claim?.closed();
    this.#open.delete(message.id);
  }

  /** The server cancelled its request. */
  cancel(id: RequestId, reason: unknown): void {
    this.#open.get(id)?.abort(reason);
  }
}
