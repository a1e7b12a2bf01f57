// A modern server asks by answering: its questions are put, and the request is repeated with the answers until it is done.

import { PortolanError } from "../../errors/index.ts";
import type { JsonObject, ServerDefinition } from "../../model/index.ts";
import type { Peer } from "../session/peer.ts";
import { answerInputRequests } from "./answers.ts";
import type { Ask, Call } from "../upstream.ts";
import { within } from "../waiting.ts";

export interface InputRoundsOptions {
  readonly definition: ServerDefinition;
  readonly peer: Peer;
  /** Answers for calls that bring no `ask`. */
  readonly ask: Ask | undefined;
  /** The connection is over, and all its questions with it. */
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

  /** From the first result that asks for input to one that does not. */
  async finish(
    call: Call,
    headers: Record<string, string> | undefined,
    first: JsonObject,
    startedAt: number,
  ): Promise<JsonObject> {
    const { send } = this.#options;
    const { name, limits } = this.#options.definition;
    // The hard limit is one for all rounds.
    const maxMs = call.maxTimeoutMs ?? limits.maxRequestMs;
    const endsAt = maxMs === 0 ? Infinity : startedAt + maxMs;
    let asked = first;
    for (let round = 0; round < limits.maxInputRounds; round += 1) {
      if (asked.inputRequests == null && typeof asked.requestState !== "string") {
        throw new PortolanError("PROTOCOL_ERROR", `${name} asks for input without saying what`, {
          server: name,
        });
      }
      const inputResponses = await this.#putQuestions(call, asked.inputRequests, endsAt);
      // Nothing of an earlier round travels on: the state is the server's latest, or none.
      const { inputResponses: _responses, requestState: _state, ...original } = call.params ?? {};
      const params = {
        ...original,
        ...(asked.inputRequests == null ? {} : { inputResponses }),
        ...(asked.requestState == null ? {} : { requestState: asked.requestState }),
      };
      const result = await send(call, params, headers, endsAt);
      if (result.resultType !== "input_required") return result;
      asked = result;
    }
    throw new PortolanError(
      "TOO_MANY_ROUNDS",
      `${name} still asks for input after ${limits.maxInputRounds} rounds`,
      { server: name },
    );
  }

  /** The questions end with the call: when its caller cancels, when the connection ends, when its hard limit is over. */
  async #putQuestions(call: Call, inputRequests: unknown, endsAt: number): Promise<JsonObject> {
    const { definition, peer, ended, declined } = this.#options;
    const { name: server, limits } = definition;
    const ms = call.maxTimeoutMs ?? limits.maxRequestMs;
    const end = new AbortController();
    const others = call.signal === undefined ? [] : [call.signal];
    const signal = AbortSignal.any([end.signal, ended, ...others]);
    const ask = call.ask ?? this.#options.ask;
    const answers = answerInputRequests(ask, inputRequests, { server, signal }, declined);
    try {
      const what = `${call.method} with its questions`;
      return await within(answers, { server, what, ms, endsAt, signal });
    } catch (error) {
      throw peer.dead ?? error;
    } finally {
      end.abort();
    }
  }
}
