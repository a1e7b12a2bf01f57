// What a legacy server asks by requests of its own: put to whoever is to answer, until it is answered, withdrawn or too late.

import type { RequestId, RpcRequest } from "../../model/index.ts";
import type { Attribution } from "./attribution.ts";
import type { Peer } from "../session/peer.ts";
import { answerRequest, isQuestion } from "./answers.ts";

export interface OpenQuestionsOptions {
  readonly peer: Peer;
  readonly attribution: Attribution;
  /** The connection is over, and all its questions with it. */
  readonly ended: AbortSignal;
  readonly declined: () => void;
}

export class OpenQuestions {
  readonly #options: OpenQuestionsOptions;
  readonly #open = new Map<RequestId, AbortController>();

  constructor(options: OpenQuestionsOptions) {
    this.#options = options;
  }

  async answer(message: RpcRequest, origin: RequestId | undefined): Promise<void> {
    const { peer, attribution, ended, declined } = this.#options;
    const controller = new AbortController();
    this.#open.set(message.id, controller);
    const signal = AbortSignal.any([controller.signal, ended]);
    // A ping is no sign of life of any call.
    const claim = isQuestion(message.method)
      ? await attribution.claim(message.params, origin, controller)
      : undefined;
    if (!signal.aborted) {
      const { id, method, params = {} } = message;
      const related = origin !== undefined;
      const answer = await answerRequest(claim?.ask, { id, method, params, signal, related }, () => {
        declined();
        claim?.cause?.onDeclined?.({ method, params });
      });
      if (!signal.aborted) peer.respond(message.id, answer);
    }
    claim?.closed();
    this.#open.delete(message.id);
  }

  /** The server does not want to know any more. */
  withdraw(id: RequestId, reason: unknown): void {
    this.#open.get(id)?.abort(reason);
  }
}
