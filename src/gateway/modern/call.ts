// One call of a modern client. When a legacy server sends requests during the call, the client gets them as an `input_required`
// result, and the call is suspended until the client sends the answers.

import { randomUUID } from "node:crypto";
import { firstWords } from "../../base/text/truncate.ts";
import { resultText } from "../../client/index.ts";
import { isPortolanError, PortolanError } from "../../errors/index.ts";
import { APPROVAL_ID } from "../../hub/index.ts";
import {
  isObject,
  RPC,
  type JsonObject,
  type RequestId,
  type RpcErrorObject,
  type RpcRequest,
} from "../../model/index.ts";
import type { Observation } from "../../telemetry/index.ts";
import {
  type ServerRequestHandler,
  type Caller,
  canAnswer,
  type ServerRequest,
} from "../../upstream/index.ts";
import type { AbortPool } from "../common/abort-pool.ts";
import { missingFor } from "../common/capabilities.ts";
import { type Envelope, UNNAMED, withoutEnvelope } from "../common/envelope.ts";
import { isWanted } from "../common/log-levels.ts";
import {
  RpcRefusal,
  statusOf,
  toRpcError,
  withCallId,
  writeAnswer,
  writeError,
  writeNotification,
  writeResult,
} from "../common/messages.ts";
import type { Suspendable, CallBinding, SuspendedCalls } from "./suspended-calls.ts";
import type { TaskIds } from "../common/task-ids.ts";
import type { Reply, RequestContext } from "../common/types.ts";

/** Server requests that arrive within this time are sent to the client together. */
const GATHER_MS = 20;
/** Characters of the server's own error beside a missing capability. */
const MAX_WORDS = 2_000;

/** A client continues a call at once, if it continues it at all. */
const AWAY_MS = 30_000;

/** A server request that the client has to answer. */
interface OpenRequest {
  readonly request: ServerRequest;
  readonly answer: (answer: JsonObject | undefined) => void;
}

export interface ModernCallOptions {
  readonly suspendedCalls: SuspendedCalls<ModernCall>;
  readonly tasks: TaskIds;
  readonly aborts: AbortPool;
  /** Counts calls, for the ids of callers without a channel. */
  readonly nextCallNumber: () => number;
  /** Converts a result of the server to the result for the client. */
  readonly toResult: (
    context: RequestContext,
    method: string,
    params: JsonObject,
    result: JsonObject,
  ) => JsonObject;
}

export class ModernCall implements Suspendable {
  readonly #options: ModernCallOptions;
  readonly #context: RequestContext;
  readonly #method: string;
  readonly #params: JsonObject;
  readonly #capabilities: JsonObject;
  readonly #abort: AbortController;
  #id: RequestId;
  #progressToken: string | number | undefined;
  #reply: Reply | undefined;
  #openRequests: Map<string, OpenRequest> | undefined;
  #gathering: NodeJS.Timeout | undefined;
  #away: NodeJS.Timeout | undefined;
  /** Answers that came with the first request, before any server request. */
  #early: JsonObject | undefined;
  /** The capabilities for the requests of this call that were declined. */
  #missing: JsonObject | undefined;
  #outcome:
    | {
        answer: { result: JsonObject } | { error: RpcErrorObject };
        status: number | undefined;
        /** The reason of an error. */
        thrown?: unknown;
      }
    | undefined;
  #observation: Observation | undefined;

  constructor(
    context: RequestContext,
    message: RpcRequest,
    envelope: Envelope,
    reply: Reply,
    options: ModernCallOptions,
  ) {
    this.#context = context;
    this.#options = options;
    this.#abort = options.aborts.take();
    this.#method = message.method;
    this.#params = message.params ?? {};
    this.#capabilities = envelope.capabilities;
    this.#id = message.id;
    this.#progressToken = envelope.progressToken;
    this.#observation = reply.observation;
    this.#attach(reply);
  }

  /** Sends the call to the server. */
  start({ clientInfo, logLevel, capabilities }: Envelope, allowsServerRequests: boolean): void {
    const { caller, view, channel, headers } = this.#context;
    const upstreamCaller: Caller = {
      // Clients may share a token, so without a channel each call counts as a client of its own.
      id: channel ?? `${caller.name} ${this.#options.nextCallNumber()}`,
      clientInfo: clientInfo ?? UNNAMED,
      capabilities,
      era: "modern",
      logLevel,
      account: caller.name,
      scopes: caller.scopes,
      headers,
    };
    if (
      allowsServerRequests &&
      this.#params.requestState === undefined &&
      isObject(this.#params.inputResponses)
    )
      this.#early = { ...this.#params.inputResponses };
    view.hubView
      .request({
        method: this.#method,
        params: this.#options.tasks.verify(caller.name, this.#method, withoutEnvelope(this.#params)),
        caller: upstreamCaller,
        signal: this.#abort.signal,
        observation: this.#observation,
        passInputRequired: true,
        onServerRequest: allowsServerRequests && canAnswer(capabilities) ? this.#onServerRequest : undefined,
        onDeclined: (request) => {
          // Many servers request the roots in the background, and go on with the empty list that they get.
          if (request.method === "roots/list") return;
          const missing = missingFor(request, capabilities);
          if (missing !== undefined) this.#missing = { ...this.#missing, ...missing };
        },
        onProgress:
          this.#progressToken === undefined
            ? undefined
            : (progress) =>
                this.#notify("notifications/progress", { progressToken: this.#progressToken, ...progress }),
        // A client that gets no progress continues the call with its next request.
        onWaiting:
          allowsServerRequests && this.#progressToken === undefined ? () => this.#continueLater() : undefined,
        onLog:
          logLevel === undefined
            ? undefined
            : (message) => {
                if (isWanted(message.level, logLevel)) this.#notify("notifications/message", message);
              },
      })
      .then(
        (result) => this.#finished(result),
        (error: unknown) => this.#failed(this.#toRpcError(error), error),
      );
  }

  /** Continues a suspended call with the answers of the client. */
  resume(message: RpcRequest, envelope: Envelope, reply: Reply): void {
    clearTimeout(this.#away);
    const answers = message.params?.inputResponses;
    this.#id = message.id;
    this.#progressToken = envelope.progressToken ?? this.#progressToken;
    this.#attach(reply);
    if (reply.observation !== undefined) {
      this.#observation?.continueAs(reply.observation);
      this.#observation = reply.observation;
    }
    for (const [key, { answer }] of this.#openRequests ?? []) {
      const given = isObject(answers) && Object.hasOwn(answers, key) ? answers[key] : undefined;
      if (!isObject(given)) continue;
      this.#openRequests?.delete(key);
      answer(given);
    }
    if (this.#outcome !== undefined) this.#end();
    // Server requests without an answer are sent to the client again.
    else if ((this.#openRequests?.size ?? 0) > 0) this.#sendOpenRequests();
  }

  expire(reason: string): void {
    this.#abort.abort(new PortolanError("TIMEOUT", `${this.#method} was cancelled: ${reason}`));
    this.#outcome = undefined;
  }

  get binding(): CallBinding {
    const { caller, view } = this.#context;
    return { caller: caller.name, view: view.key, method: this.#method, params: this.#params };
  }

  #attach(reply: Reply): void {
    this.#reply = reply;
    reply.onCancel = () => {
      clearTimeout(this.#gathering);
      this.#reply = undefined;
      this.#abort.abort(new PortolanError("CANCELLED", `the client cancelled ${this.#method}`));
    };
  }

  readonly #onServerRequest: ServerRequestHandler = (request) => {
    if (missingFor(request, this.#capabilities) !== undefined) return Promise.resolve(undefined);
    const key = this.#keyFor(request);
    const early = this.#early?.[key];
    if (isObject(early)) {
      delete this.#early?.[key];
      return Promise.resolve(early);
    }
    return new Promise((resolve) => {
      const answer = (given: JsonObject | undefined): void => {
        request.signal.removeEventListener("abort", onAbort);
        resolve(given);
      };
      const onAbort = (): void => {
        this.#openRequests?.delete(key);
        answer(undefined);
      };
      request.signal.addEventListener("abort", onAbort, { once: true });
      this.#openRequests ??= new Map();
      this.#openRequests.set(key, { request, answer });
      this.#gathering ??= setTimeout(() => this.#sendOpenRequests(), GATHER_MS);
    });
  };

  /**
   * The key of a server request: its id, made unique among the open ones. The key of an approval is random, so that a client cannot
   * send the approval together with the call.
   */
  #keyFor({ id }: ServerRequest): string {
    const key = String(id).startsWith(APPROVAL_ID) ? `${id}-${randomUUID()}` : String(id);
    for (let suffix = 2; ; suffix += 1) {
      const candidate = suffix === 2 ? key : `${key}_${suffix}`;
      if (this.#openRequests?.has(candidate) !== true) return candidate;
    }
  }

  #sendOpenRequests(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    const open = this.#openRequests;
    if (this.#reply !== undefined && open !== undefined && open.size > 0) this.#suspend(this.#reply, open);
  }

  /** Ends the request with a state alone. A client that does not come back with it has given up. */
  #continueLater(): void {
    if (this.#reply === undefined || (this.#openRequests?.size ?? 0) > 0) return;
    this.#suspend(this.#reply, undefined);
    this.#away = setTimeout(() => {
      if (this.#outcome === undefined)
        this.expire("the client did not send the request again with its requestState in time");
    }, AWAY_MS).unref();
  }

  #suspend(reply: Reply, open: ReadonlyMap<string, OpenRequest> | undefined): void {
    const inputRequests =
      open &&
      Object.fromEntries(
        [...open].map(([key, { request }]) => [
          key,
          {
            method: request.method,
            params: this.#options.tasks.sign(this.#context.caller.name, request.params),
          },
        ]),
      );
    let text: string;
    try {
      const requests = inputRequests === undefined ? "" : `"inputRequests":${JSON.stringify(inputRequests)},`;
      // The call is suspended only after its requests have been serialised.
      const requestState = JSON.stringify(this.#options.suspendedCalls.suspend(this, this.binding));
      text = writeResult(
        this.#id,
        `{"resultType":"input_required",${requests}"requestState":${requestState}}`,
      );
    } catch (error) {
      // JSON.stringify() cannot write every nesting that JSON.parse() can read.
      this.#abort.abort(error);
      return this.#failed(this.#toRpcError(error), error);
    }
    this.#release(reply);
    reply.observation?.succeeded({ resultType: "input_required" });
    reply.end(text);
  }

  #notify(method: string, params: JsonObject): void {
    if (this.#reply?.canStream === true) this.#reply.send(writeNotification(method, params));
  }

  #finished(result: JsonObject): void {
    // The server may have finished without the declined request; if it failed, the missing capability is the likely reason.
    if (this.#missing !== undefined && result.isError === true)
      return this.#failed(this.#missingCapability(this.#missing, resultText(result)));
    try {
      const converted = this.#options.toResult(this.#context, this.#method, this.#params, result);
      this.#outcome = { answer: { result: converted }, status: undefined };
    } catch (error) {
      return this.#failed(this.#toRpcError(error), error);
    }
    this.#end();
  }

  #toRpcError(error: unknown): RpcErrorObject {
    const request = { method: this.#method, params: this.#params };
    return toRpcError(error, true, request, this.#context.caller.name);
  }

  #failed(given: RpcErrorObject, thrown?: unknown): void {
    // A crash or a timeout is no answer of the server, so that the declined request did not cause it.
    const isAnswer = isPortolanError(thrown) && thrown.code === "RPC_ERROR" && !this.#abort.signal.aborted;
    const error =
      this.#missing === undefined || !isAnswer
        ? given
        : this.#missingCapability(this.#missing, given.message);
    this.#outcome = { answer: { error }, status: statusOf(error), thrown };
    this.#end();
  }

  /** The error for a call that failed after a declined request, with the server's own words. */
  #missingCapability(missing: JsonObject, words: string): RpcErrorObject {
    const fact = `The server needs capabilities that this client did not declare: ${Object.keys(missing).join(", ")}`;
    const message = words === "" ? fact : `${fact}. The server answered: ${firstWords(words, MAX_WORDS)}`;
    const data = { requiredCapabilities: missing };
    return new RpcRefusal(RPC.MISSING_CAPABILITY, message, { data }).error;
  }

  #end(): void {
    clearTimeout(this.#gathering);
    const reply = this.#reply;
    if (reply === undefined || this.#outcome === undefined) return;
    this.#release(reply);
    const { answer, status, thrown } = this.#outcome;
    const { observation } = reply;
    if ("result" in answer) {
      observation?.succeeded(answer.result);
      reply.end(writeAnswer(this.#id, answer), status);
    } else {
      observation?.failed(thrown, answer.error.code);
      reply.end(writeError(this.#id, withCallId(answer.error, thrown, observation)), status);
    }
    // A handler of a server request may still use the signal.
    if (this.#openRequests === undefined) this.#options.aborts.give(this.#abort);
  }

  #release(reply: Reply): void {
    reply.onCancel = undefined;
    this.#reply = undefined;
  }
}
