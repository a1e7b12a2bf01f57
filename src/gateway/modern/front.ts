// Front for modern clients: dispatches their requests. It is stateless, except for subscriptions and suspended calls.

import { isObject, MODERN_REVISION, RPC, type JsonObject, type RpcRequest } from "../../model/index.ts";
import type { CallObservers } from "../../telemetry/index.ts";
import type { AuthenticatedCaller } from "../access/types.ts";
import type { AbortPool } from "../common/abort-pool.ts";
import { ALLOWS_SERVER_REQUESTS, hasTasks, requireTasks } from "../common/capabilities.ts";
import { readEnvelope } from "../common/envelope.ts";
import type { LargeResults } from "../common/large-results.ts";
import { LISTS, modernResult, modernText, pageOf } from "../common/lists.ts";
import type { LogLevels } from "../common/log-levels.ts";
import { replyWithError, RpcRefusal, writeResult } from "../common/messages.ts";
import type { TaskIds } from "../common/task-ids.ts";
import type { Reply, RequestContext } from "../common/types.ts";
import { clientOf, observe } from "../telemetry/observed-reply.ts";
import { ModernCall, type ModernCallOptions } from "./call.ts";
import { Subscriptions } from "./subscriptions.ts";
import { isOwnState, SuspendedCalls, type SuspendedCallsOptions } from "./suspended-calls.ts";

/** Methods of the legacy protocol that the modern one has removed. */
const REMOVED = new Set([
  "initialize",
  "ping",
  "logging/setLevel",
  "resources/subscribe",
  "resources/unsubscribe",
  "tasks/list",
  "tasks/result",
]);

export interface ModernFrontOptions {
  readonly suspendedCalls: SuspendedCallsOptions;
  readonly pageSize: number;
  readonly results: LargeResults;
  readonly levels: LogLevels;
  readonly tasks: TaskIds;
  readonly aborts: AbortPool;
  readonly calls: CallObservers;
}

export class ModernFront {
  readonly #options: ModernFrontOptions;
  readonly #suspended: SuspendedCalls<ModernCall>;
  readonly #subscriptions: Subscriptions;
  readonly #callOptions: ModernCallOptions;
  #calls = 0;

  constructor(options: ModernFrontOptions) {
    this.#options = options;
    this.#suspended = new SuspendedCalls(options.suspendedCalls);
    this.#subscriptions = new Subscriptions(options.tasks);
    this.#callOptions = {
      suspendedCalls: this.#suspended,
      nextCallNumber: () => (this.#calls += 1),
      tasks: options.tasks,
      aborts: options.aborts,
      toResult: (context, method, params, result) => {
        const limited = options.results.limit(context, method, params, result);
        return modernResult(method, options.tasks.sign(context.caller.name, limited), context.view.frame);
      },
    };
  }

  handle(message: RpcRequest, context: RequestContext, given: Reply): void {
    const { calls } = this.#options;
    const reply = calls.active ? this.#observe(message, context, given) : given;
    try {
      this.#dispatch(message, context, reply);
    } catch (error) {
      replyWithError(reply, message.id, error);
    }
  }

  /** Ends the streams of subscriptions, or those of some callers. */
  endSubscriptions(isMeant?: (caller: AuthenticatedCaller) => boolean): void {
    this.#subscriptions.close(isMeant);
  }

  close(): void {
    this.#subscriptions.close();
    this.#suspended.clear("the gateway is stopping");
  }

  #observe(message: RpcRequest, context: RequestContext, reply: Reply): Reply {
    const { peer } = context;
    const client = clientOf(message);
    const side = { era: "modern", revision: MODERN_REVISION, client, peer } as const;
    return observe(this.#options.calls, message, context, side, reply);
  }

  #dispatch(message: RpcRequest, given: RequestContext, reply: Reply): void {
    const { method } = message;
    if (REMOVED.has(method)) throw unknownMethod(method);
    const envelope = readEnvelope(message.params);
    const view = given.view.for(envelope.capabilities);
    const context = view === given.view ? given : { ...given, view };
    if (method === "server/discover") return reply.end(writeResult(message.id, this.#discover(context)));
    if (method === "subscriptions/listen")
      return void this.#subscriptions.open(context, message, envelope, reply);
    // Checked before the id: a client without the extension cannot have a task.
    if (method.startsWith("tasks/") && hasTasks(context.view.hubView.describe().capabilities))
      requireTasks(envelope.capabilities);
    if (LISTS[method] !== undefined) return void this.#list(message, context, reply);
    const allowsServerRequests = ALLOWS_SERVER_REQUESTS.has(method);
    if (allowsServerRequests) checkResponses(message.params);
    const stored = allowsServerRequests
      ? this.#options.results.read(context, method, message.params ?? {})
      : undefined;
    if (stored !== undefined)
      return reply.end(writeResult(message.id, modernText(method, stored, context.view.frame)));
    const state = message.params?.requestState;
    if (allowsServerRequests && isOwnState(state)) {
      const { caller } = context;
      const binding = { caller: caller.name, view: view.key, method, params: message.params ?? {} };
      this.#suspended.take(state, binding).resume(message, envelope, reply);
      return;
    }
    const call = new ModernCall(context, message, envelope, reply, this.#callOptions);
    if (envelope.logLevel === undefined) return call.start(envelope, allowsServerRequests);
    // The call starts even if a server does not accept the level in time.
    this.#options.levels
      .request(envelope.logLevel)
      .catch(() => {})
      .then(() => call.start(envelope, allowsServerRequests))
      .catch((error: unknown) => replyWithError(reply, message.id, error));
  }

  #discover({ view }: RequestContext): string {
    const { capabilities, instructions } = view.hubView.describe();
    const result: JsonObject = {
      supportedVersions: [MODERN_REVISION],
      capabilities,
      instructions,
      ttlMs: 60_000,
      cacheScope: "private",
    };
    return modernText("server/discover", result, view.frame);
  }

  async #list({ id, method, params }: RpcRequest, { view }: RequestContext, reply: Reply): Promise<void> {
    try {
      const whole = await view.hubView.request({ method });
      const page = pageOf(method, whole, params?.cursor, this.#options.pageSize);
      const text = view.listText(page, "modern", () => modernText(method, page, view.frame));
      reply.end(writeResult(id, text));
    } catch (error) {
      replyWithError(reply, id, error);
    }
  }
}

function unknownMethod(method: string): RpcRefusal {
  return new RpcRefusal(RPC.METHOD_NOT_FOUND, `Method not found: ${method.slice(0, 100)}`);
}

function checkResponses(params: JsonObject | undefined): void {
  if (params?.inputResponses !== undefined && !isObject(params.inputResponses))
    throw new RpcRefusal(RPC.INVALID_PARAMS, "inputResponses must be an object");
}
