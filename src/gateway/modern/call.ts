// One request of a modern client on its way through. When a legacy server asks in the middle of it, the questions go out as
// an `input_required` result, and the call waits until the client comes back with the answers.

import { randomUUID } from "node:crypto";
import { PortolanError } from "../../errors/index.ts";
import { APPROVAL_ID } from "../../hub/index.ts";
import {
  isObject,
  RPC,
  type JsonObject,
  type RequestId,
  type RpcErrorObject,
  type RpcRequest,
} from "../../model/index.ts";
import {
  type ServerRequestHandler,
  type Caller,
  canAnswer,
  type ServerRequest,
} from "../../upstream/index.ts";
import { missingFor } from "../common/capabilities.ts";
import { type Envelope, withoutEnvelope } from "../common/envelope.ts";
import { isWanted } from "../common/log-levels.ts";
import {
  RpcRefusal,
  statusOf,
  toRpcError,
  writeAnswer,
  writeNotification,
  writeResult,
} from "../common/messages.ts";
import type { Parkable, ParkedFor, Parking } from "./suspended-calls.ts";
import { returnStop, takeStop } from "../common/abort-pool.ts";
import type { TaskIds } from "../common/task-ids.ts";
import type { Reply, Visit } from "../common/types.ts";

/** Questions that come this close after each other go out together. */
const GATHER_MS = 20;

let calls = 0;

interface Asked {
  readonly question: ServerRequest;
  readonly answer: (answer: JsonObject | undefined) => void;
}

export interface ModernCallOptions {
  readonly parking: Parking<ModernCall>;
  readonly tasks: TaskIds;
  /** The result as the client gets it. */
  readonly toResult: (visit: Visit, method: string, params: JsonObject, result: JsonObject) => JsonObject;
}

export class ModernCall implements Parkable {
  readonly #options: ModernCallOptions;
  readonly #visit: Visit;
  readonly #method: string;
  readonly #params: JsonObject;
  readonly #capabilities: JsonObject;
  readonly #stop = takeStop();
  #id: RequestId;
  #progressToken: string | number | undefined;
  #reply: Reply | undefined;
  #questions: Map<string, Asked> | undefined;
  #gathering: NodeJS.Timeout | undefined;
  /** Answers that came with the first request, before any question. */
  #early: JsonObject | undefined;
  #missing: JsonObject | undefined;
  #outcome:
    | { answer: { result: JsonObject } | { error: RpcErrorObject }; status: number | undefined }
    | undefined;

  constructor(
    visit: Visit,
    message: RpcRequest,
    envelope: Envelope,
    reply: Reply,
    options: ModernCallOptions,
  ) {
    this.#visit = visit;
    this.#options = options;
    this.#method = message.method;
    this.#params = message.params ?? {};
    this.#capabilities = envelope.capabilities;
    this.#id = message.id;
    this.#progressToken = envelope.progressToken;
    this.#attach(reply);
  }

  /** Sends it on. */
  start({ clientInfo, logLevel, capabilities }: Envelope, mayAsk: boolean): void {
    const { principal, offer, channel, headers } = this.#visit;
    const caller: Caller = {
      // Without a channel each call is a client of its own: several may share a token, and nothing says which it is.
      id: channel ?? `${principal.name} ${(calls += 1)}`,
      clientInfo: clientInfo ?? UNNAMED,
      capabilities,
      era: "modern",
      logLevel,
      account: principal.name,
      scopes: principal.scopes,
      headers,
    };
    if (mayAsk && this.#params.requestState === undefined && isObject(this.#params.inputResponses))
      this.#early = { ...this.#params.inputResponses };
    offer.view
      .request({
        method: this.#method,
        params: this.#options.tasks.open(principal.name, this.#method, withoutEnvelope(this.#params)),
        caller,
        signal: this.#stop.signal,
        passInputRequired: true,
        onServerRequest: mayAsk && canAnswer(capabilities) ? this.#ask : undefined,
        onDeclined: (question) => {
          const missing = missingFor(question, capabilities);
          if (missing !== undefined) this.#missing = { ...this.#missing, ...missing };
        },
        onProgress:
          this.#progressToken === undefined
            ? undefined
            : (progress) =>
                this.#say("notifications/progress", { progressToken: this.#progressToken, ...progress }),
        onLog:
          logLevel === undefined
            ? undefined
            : (message) => {
                if (isWanted(message.level, logLevel)) this.#say("notifications/message", message);
              },
      })
      .then(
        (result) => this.#finished(result),
        (error: unknown) => this.#failed(toRpcError(error, true)),
      );
  }

  /** The client is back with answers. */
  resume(message: RpcRequest, envelope: Envelope, reply: Reply): void {
    const answers = message.params?.inputResponses;
    this.#id = message.id;
    this.#progressToken = envelope.progressToken ?? this.#progressToken;
    this.#attach(reply);
    for (const [key, { answer }] of this.#questions ?? []) {
      const given = isObject(answers) && Object.hasOwn(answers, key) ? answers[key] : undefined;
      if (!isObject(given)) continue;
      this.#questions?.delete(key);
      answer(given);
    }
    if (this.#outcome !== undefined) this.#end();
    // What was left out is asked again.
    else if ((this.#questions?.size ?? 0) > 0) this.#askClient();
  }

  expire(reason: string): void {
    this.#stop.abort(new PortolanError("TIMEOUT", `${this.#method} was given up: ${reason}`));
    this.#outcome = undefined;
  }

  get bound(): ParkedFor {
    const { principal, offer } = this.#visit;
    return { principal: principal.name, offer: offer.key, method: this.#method, params: this.#params };
  }

  #attach(reply: Reply): void {
    this.#reply = reply;
    reply.gone = () => {
      clearTimeout(this.#gathering);
      this.#reply = undefined;
      this.#stop.abort(new PortolanError("CANCELLED", `the client cancelled ${this.#method}`));
    };
  }

  readonly #ask: ServerRequestHandler = (question) => {
    if (missingFor(question, this.#capabilities) !== undefined) return Promise.resolve(undefined);
    const key = this.#keyFor(question);
    const early = this.#early?.[key];
    if (isObject(early)) {
      delete this.#early?.[key];
      return Promise.resolve(early);
    }
    return new Promise((resolve) => {
      const answer = (given: JsonObject | undefined): void => {
        question.signal.removeEventListener("abort", withdrawn);
        resolve(given);
      };
      const withdrawn = (): void => {
        this.#questions?.delete(key);
        answer(undefined);
      };
      question.signal.addEventListener("abort", withdrawn, { once: true });
      this.#questions ??= new Map();
      this.#questions.set(key, { question, answer });
      this.#gathering ??= setTimeout(() => this.#askClient(), GATHER_MS);
    });
  };

  /**
   * The server's own name for the question, which is unique among those that are open. Nobody can know that of an approval before it
   * is asked for: it must not come with the call that it is about.
   */
  #keyFor({ id }: ServerRequest): string {
    const key = String(id).startsWith(APPROVAL_ID) ? `${id}-${randomUUID()}` : String(id);
    for (let suffix = 2; ; suffix += 1) {
      const candidate = suffix === 2 ? key : `${key}_${suffix}`;
      if (this.#questions?.has(candidate) !== true) return candidate;
    }
  }

  #askClient(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    const reply = this.#reply;
    const questions = this.#questions;
    if (reply === undefined || questions === undefined || questions.size === 0) return;
    const inputRequests = Object.fromEntries(
      [...questions].map(([key, { question }]) => [
        key,
        {
          method: question.method,
          params: this.#options.tasks.seal(this.#visit.principal.name, question.params),
        },
      ]),
    );
    let text: string;
    try {
      const questionsText = JSON.stringify(inputRequests);
      // Only what can be put to the client is worth waiting for.
      const requestState = JSON.stringify(this.#options.parking.park(this, this.bound));
      text = writeResult(
        this.#id,
        `{"resultType":"input_required","inputRequests":${questionsText},"requestState":${requestState}}`,
      );
    } catch (error) {
      // What is nested too deeply can be read, but not written.
      this.#stop.abort(error);
      return this.#failed(toRpcError(error, true));
    }
    this.#release(reply);
    reply.end(text);
  }

  #say(method: string, params: JsonObject): void {
    if (this.#reply?.canStream === true) this.#reply.send(writeNotification(method, params));
  }

  #finished(result: JsonObject): void {
    // A server that was told no may still have done its work; if it failed, the reason is what the client lacks.
    if (this.#missing !== undefined && result.isError === true) return this.#failed(this.#lacking());
    try {
      const whole = this.#options.toResult(this.#visit, this.#method, this.#params, result);
      this.#outcome = { answer: { result: whole }, status: undefined };
    } catch (error) {
      return this.#failed(toRpcError(error, true));
    }
    this.#end();
  }

  #failed(given: RpcErrorObject): void {
    const error = this.#missing === undefined || this.#stop.signal.aborted ? given : this.#lacking();
    this.#outcome = { answer: { error }, status: statusOf(error) };
    this.#end();
  }

  #lacking(): RpcErrorObject {
    const names = Object.keys(this.#missing ?? {}).join(", ");
    return new RpcRefusal(
      RPC.MISSING_CAPABILITY,
      `The server needs what this client did not declare: ${names}`,
      {
        data: { requiredCapabilities: this.#missing },
      },
    ).error;
  }

  #end(): void {
    clearTimeout(this.#gathering);
    const reply = this.#reply;
    if (reply === undefined || this.#outcome === undefined) return;
    this.#release(reply);
    const { answer, status } = this.#outcome;
    reply.end(writeAnswer(this.#id, answer), status);
    // Who was asked in between may still look at it.
    if (this.#questions === undefined) returnStop(this.#stop);
  }

  #release(reply: Reply): void {
    reply.gone = undefined;
    this.#reply = undefined;
  }
}

const UNNAMED = { name: "unnamed", version: "unknown" };
