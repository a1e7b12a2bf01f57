// Requests of modern clients: each says all there is to know about it, and nothing is remembered but calls that wait for answers.

import { isObject, MODERN_REVISION, RPC, type JsonObject, type RpcRequest } from "../../model/index.ts";
import { hasTasks, requireTasks } from "../common/capabilities.ts";
import { readEnvelope } from "../common/envelope.ts";
import { Listens } from "./subscriptions.ts";
import { LISTS, modernResult, modernText, pageOf } from "../common/lists.ts";
import type { LogLevels } from "../common/log-levels.ts";
import { RpcRefusal, statusOf, toRpcError, writeError, writeResult } from "../common/messages.ts";
import { ModernCall, type ModernCallOptions } from "./call.ts";
import { isOwnState, Parking, type ParkingOptions } from "./suspended-calls.ts";
import type { Results } from "../common/large-results.ts";
import type { TaskIds } from "../common/task-ids.ts";
import type { Reply, Visit } from "../common/types.ts";

/** What this revision has no more. */
const REMOVED = new Set([
  "initialize",
  "ping",
  "logging/setLevel",
  "resources/subscribe",
  "resources/unsubscribe",
  "tasks/list",
  "tasks/result",
]);

/** Requests in the middle of which a server may ask. */
const MAY_ASK = new Set(["tools/call", "prompts/get", "resources/read"]);

export interface ModernOptions {
  readonly parking: ParkingOptions;
  readonly pageSize: number;
  readonly results: Results;
  readonly levels: LogLevels;
  readonly tasks: TaskIds;
}

export class Modern {
  readonly #options: ModernOptions;
  readonly #parking: Parking<ModernCall>;
  readonly #listens: Listens;
  readonly #callOptions: ModernCallOptions;

  constructor(options: ModernOptions) {
    this.#options = options;
    this.#parking = new Parking(options.parking);
    this.#listens = new Listens(options.tasks);
    this.#callOptions = {
      parking: this.#parking,
      tasks: options.tasks,
      toResult: (visit, method, params, result) => {
        const fitting = options.results.fit(visit, method, params, result);
        return modernResult(method, options.tasks.seal(visit.principal.name, fitting), visit.offer.frame);
      },
    };
  }

  /** Calls that wait for their client. */
  get parked(): number {
    return this.#parking.size;
  }

  handle(message: RpcRequest, visit: Visit, reply: Reply): void {
    try {
      this.#dispatch(message, visit, reply);
    } catch (error) {
      this.#refuse(message, reply, error);
    }
  }

  /** Ends the streams that only listen. */
  endStreams(): void {
    this.#listens.close();
  }

  close(): void {
    this.#listens.close();
    this.#parking.clear("the gateway stops");
  }

  #dispatch(message: RpcRequest, visit: Visit, reply: Reply): void {
    const { method } = message;
    if (REMOVED.has(method)) throw unknownMethod(method);
    const envelope = readEnvelope(message.params);
    if (method === "server/discover") return reply.end(writeResult(message.id, this.#discover(visit)));
    if (method === "subscriptions/listen") return void this.#listens.open(visit, message, envelope, reply);
    // The id is not looked at before: who does not know tasks cannot have one.
    if (method.startsWith("tasks/") && hasTasks(visit.offer.view.describe().capabilities))
      requireTasks(envelope.capabilities);
    if (LISTS[method] !== undefined) return void this.#list(message, visit, reply);
    const mayAsk = MAY_ASK.has(method);
    if (mayAsk) checkResponses(message.params);
    const own = mayAsk ? this.#options.results.read(visit, method, message.params ?? {}) : undefined;
    if (own !== undefined)
      return reply.end(writeResult(message.id, modernText(method, own, visit.offer.frame)));
    const state = message.params?.requestState;
    if (mayAsk && isOwnState(state)) {
      const { principal, offer } = visit;
      const bound = { principal: principal.name, offer: offer.key, method, params: message.params ?? {} };
      this.#parking.take(state, bound).resume(message, envelope, reply);
      return;
    }
    const call = new ModernCall(visit, message, envelope, reply, this.#callOptions);
    if (envelope.logLevel === undefined) return call.start(envelope, mayAsk);
    // What cannot be told in time is not worth waiting for.
    this.#options.levels
      .want(envelope.logLevel)
      .catch(() => {})
      .then(() => call.start(envelope, mayAsk))
      .catch((error: unknown) => this.#refuse(message, reply, error));
  }

  #discover({ offer }: Visit): string {
    const { capabilities, instructions } = offer.view.describe();
    const result: JsonObject = {
      supportedVersions: [MODERN_REVISION],
      capabilities,
      ...(instructions === undefined ? {} : { instructions }),
      ttlMs: 60_000,
      cacheScope: "private",
    };
    return modernText("server/discover", result, offer.frame);
  }

  async #list({ id, method, params }: RpcRequest, { offer }: Visit, reply: Reply): Promise<void> {
    try {
      const whole = await offer.view.request({ method });
      const page = pageOf(method, whole, params?.cursor, this.#options.pageSize);
      reply.end(writeResult(id, offer.listText(method, page, "modern")));
    } catch (error) {
      this.#refuse({ id }, reply, error);
    }
  }

  #refuse({ id }: Pick<RpcRequest, "id">, reply: Reply, thrown: unknown): void {
    const error = toRpcError(thrown, true);
    const status = thrown instanceof RpcRefusal ? thrown.status : undefined;
    reply.end(writeError(id, error), status ?? statusOf(error));
  }
}

function unknownMethod(method: string): RpcRefusal {
  return new RpcRefusal(RPC.METHOD_NOT_FOUND, `Method not found: ${method.slice(0, 100)}`);
}

function checkResponses(params: JsonObject | undefined): void {
  if (params?.inputResponses !== undefined && !isObject(params.inputResponses))
    throw new RpcRefusal(RPC.INVALID_PARAMS, "inputResponses must be an object");
}
