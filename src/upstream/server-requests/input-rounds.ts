// Input rounds of the modern era: answers the requests in an `input_required` result, and repeats the call until it is complete.

import { PortolanError } from "../../errors/index.ts";
import type { JsonObject, ServerDefinition } from "../../model/index.ts";
import type { Peer } from "../session/peer.ts";
import { answerInputRequests } from "./answers.ts";
import type { ServerRequestHandler, Call } from "../upstream.ts";
import { within } from "../waiting.ts";

export interface InputRoundsOptions {
  readonly definition: ServerDefinition;
  readonly peer: Peer;
  /** Answers the server requests of calls without a handler of their own. */
  readonly onServerRequest: ServerRequestHandler | undefined;
  /** Aborted when the connection ends, and all its server requests with it. */
  readonly ended: AbortSignal;
  readonly declined: () => void;
  readonly send: (
    call: Call,
    params: JsonObject,
    headers: Record<string, string> | undefined,
    endsAt: number,
  ) => Promise<JsonObject>;
}

export class InputRounds {
  readonly #options: InputRoundsOptions;

  constructor(options: InputRoundsOptions) {
    this.#options = options;
  }

  /** From the first `input_required` result to the final result. */
  async finish(
    call: Call,
    headers: Record<string, string> | undefined,
    first: JsonObject,
    startedAt: number,
  ): Promise<JsonObject> {
    const { send } = this.#options;
    const { name, limits } = this.#options.definition;
    // One hard limit applies to all rounds.
    const maxMs = call.maxTimeoutMs ?? limits.maxRequestMs;
    const endsAt = maxMs === 0 ? Infinity : startedAt + maxMs;
    let inputRequired = first;
    for (let round = 0; round < limits.maxInputRounds; round += 1) {
      if (inputRequired.inputRequests == null && typeof inputRequired.requestState !== "string") {
        throw new PortolanError(
          "PROTOCOL_ERROR",
          `${name} answered input_required without inputRequests and requestState`,
          {
            server: name,
          },
        );
      }
      const inputResponses = await this.#answerRequests(call, inputRequired.inputRequests, endsAt);
      // The fields of an earlier round are removed: the state is the latest one of the server, or absent.
      const { inputResponses: _responses, requestState: _state, ...original } = call.params ?? {};
      const params = {
        ...original,
        ...(inputRequired.inputRequests == null ? {} : { inputResponses }),
        ...(inputRequired.requestState == null ? {} : { requestState: inputRequired.requestState }),
      };
      const result = await send(call, params, headers, endsAt);
      if (result.resultType !== "input_required") return result;
      inputRequired = result;
    }
    throw new PortolanError(
      "TOO_MANY_ROUNDS",
      `${name} still requires input after ${limits.maxInputRounds} rounds`,
      { server: name },
    );
  }

  /** The server requests end with the call: when its caller cancels, the connection ends, or its hard limit is over. */
  async #answerRequests(call: Call, inputRequests: unknown, endsAt: number): Promise<JsonObject> {
    const { definition, peer, ended, declined } = this.#options;
    const { name: server, limits } = definition;
    const ms = call.maxTimeoutMs ?? limits.maxRequestMs;
    const end = new AbortController();
    const others = call.signal === undefined ? [] : [call.signal];
    const signal = AbortSignal.any([end.signal, ended, ...others]);
    const handler = call.onServerRequest ?? this.#options.onServerRequest;
    const answers = answerInputRequests(handler, inputRequests, { server, signal }, declined);
    try {
      const what = `${call.method} with its server requests`;
      return await within(answers, { server, what, ms, endsAt, signal, isSent: true });
    } catch (error) {
      throw peer.dead ?? error;
    } finally {
      end.abort();
    }
  }
}
