// `subscriptions/listen`: streams on which modern clients receive the notifications that they requested.

import type { AuthenticatedCaller } from "../access/types.ts";
import { isObject, META, RPC, type JsonObject, type RequestId, type RpcRequest } from "../../model/index.ts";
import { within, type Caller } from "../../upstream/index.ts";
import { requireTasks } from "../common/capabilities.ts";
import { type Envelope, UNNAMED } from "../common/envelope.ts";
import { replyWithError, RpcRefusal, writeNotification, writeResult } from "../common/messages.ts";
import type { TaskIds } from "../common/task-ids.ts";
import type { Reply, RequestContext } from "../common/types.ts";
import type { ViewListener } from "../common/view.ts";
import { setTimeout as delay } from "node:timers/promises";
import { isPortolanError } from "../../errors/index.ts";

const MAX_PER_CALLER = 256;
const MAX_URIS = 1_000;
/** A server that does not respond must not delay the notifications of others. */
const SUBSCRIBE_MS = 5_000;

export class Subscriptions {
  readonly #open = new Set<Subscription>();
  readonly #tasks: TaskIds;
  #opened = 0;

  constructor(tasks: TaskIds) {
    this.#tasks = tasks;
  }

  /** Opens a stream. Its response is sent when the client or the gateway ends it. */
  async open(context: RequestContext, message: RpcRequest, envelope: Envelope, reply: Reply): Promise<void> {
    try {
      if (!reply.canStream)
        throw new RpcRefusal(
          RPC.INVALID_PARAMS,
          "subscriptions/listen needs a client that accepts text/event-stream",
          {
            status: 406,
          },
        );
      const wanted = readFilter(message.params);
      if (wanted.taskIds.length > 0) requireTasks(envelope.capabilities);
      const own = [...this.#open].filter(
        (subscription) => subscription.context.caller.name === context.caller.name,
      );
      if (own.length >= MAX_PER_CALLER)
        throw new RpcRefusal(
          RPC.INTERNAL,
          `This caller already has ${MAX_PER_CALLER} open streams; close one first`,
          {
            status: 429,
          },
        );
      const subscription = new Subscription(context, message.id, reply, wanted, (changed, signal) =>
        watchTasks({
          ...{ context, tasks: this.#tasks, wanted: wanted.taskIds, changed, signal },
          upstreamCaller: toUpstreamCaller(context, envelope, `stream ${(this.#opened += 1)}`),
        }),
      );
      this.#open.add(subscription);
      subscription.onEnd = () => this.#open.delete(subscription);
      await subscription.begin();
    } catch (error) {
      replyWithError(reply, message.id, error);
    }
  }

  /** Ends streams with a complete result, so that clients do not take it for a lost connection. */
  close(isMeant: (caller: AuthenticatedCaller) => boolean = () => true): void {
    for (const subscription of [...this.#open]) if (isMeant(subscription.context.caller)) subscription.end();
  }
}

interface Filter {
  readonly lists: ReadonlySet<"tools" | "prompts" | "resources">;
  readonly uris: readonly string[];
  readonly taskIds: readonly string[];
}

function readFilter(params: JsonObject | undefined): Filter {
  const filter = params?.notifications;
  if (!isObject(filter))
    throw new RpcRefusal(RPC.INVALID_PARAMS, "notifications must be an object that selects notifications");
  const uris = stringsOf(filter, "resourceSubscriptions", "URIs");
  const taskIds = stringsOf(filter, "taskIds", "task ids");
  const lists = (["tools", "prompts", "resources"] as const).filter(
    (list) => filter[`${list}ListChanged`] === true,
  );
  return { lists: new Set(lists), uris, taskIds };
}

function stringsOf(filter: JsonObject, field: string, noun: string): readonly string[] {
  const given = filter[field] ?? [];
  if (!Array.isArray(given) || given.length > MAX_URIS || !given.every((item) => typeof item === "string"))
    throw new RpcRefusal(RPC.INVALID_PARAMS, `${field} must be a list of at most ${MAX_URIS} ${noun}`);
  return [...new Set<string>(given)];
}

function toUpstreamCaller(
  { caller, channel, headers }: RequestContext,
  { clientInfo, capabilities }: Envelope,
  stream: string,
): Caller {
  return {
    id: channel ?? `${caller.name} ${stream}`,
    clientInfo: clientInfo ?? UNNAMED,
    capabilities,
    era: "modern",
    account: caller.name,
    scopes: caller.scopes,
    headers,
  };
}

/** Resolves with the ids of the tasks whose status will be reported. */
type WatchTasks = (changed: (task: JsonObject) => void, signal: AbortSignal) => Promise<string[]>;

class Subscription implements ViewListener {
  onEnd: () => void = () => {};
  readonly context: RequestContext;
  readonly #id: RequestId;
  readonly #reply: Reply;
  readonly #wanted: Filter;
  readonly #uris = new Set<string>();
  readonly #lists = new Set<"tools" | "prompts" | "resources">();
  /** Notifications that arrived before the acknowledgement. */
  #early: { method: string; params: JsonObject }[] | undefined = [];
  readonly #watch: WatchTasks;
  readonly #abort = new AbortController();
  #removeListener: () => void = () => {};
  #releases: (() => Promise<void>)[] = [];
  #ended = false;

  constructor(context: RequestContext, id: RequestId, reply: Reply, wanted: Filter, watch: WatchTasks) {
    this.#watch = watch;
    this.context = context;
    this.#id = id;
    this.#reply = reply;
    this.#wanted = wanted;
    reply.onCancel = () => this.#stop();
  }

  /** Resolves when the acknowledgement is sent. Notifications that arrive before wait until then. */
  async begin(): Promise<void> {
    const { capabilities } = this.context.view.hubView.describe();
    for (const list of this.#wanted.lists) if (capabilities[list] !== undefined) this.#lists.add(list);
    this.#removeListener = this.context.view.addListener(this);
    const [taskIds] = await Promise.all([
      this.#watch((task) => this.#notify("notifications/tasks", task), this.#abort.signal),
      ...this.#wanted.uris.map((uri) => this.#subscribe(uri)),
    ]);
    if (this.#ended) return;
    const early = this.#early ?? [];
    this.#early = undefined;
    this.#notify("notifications/subscriptions/acknowledged", {
      notifications: {
        ...Object.fromEntries([...this.#lists].map((list) => [`${list}ListChanged`, true])),
        ...(this.#uris.size > 0 ? { resourceSubscriptions: [...this.#uris] } : {}),
        ...(taskIds.length > 0 ? { taskIds } : {}),
      },
    });
    for (const { method, params } of early) this.#notify(method, params);
  }

  /** A resource that cannot be subscribed in time is not acknowledged, so the client knows that it gets no notifications of it. */
  async #subscribe(uri: string): Promise<void> {
    const limit = { server: uri, what: "subscribing", ms: SUBSCRIBE_MS, signal: undefined };
    const subscribed = this.context.view.hubView.subscribe(uri);
    try {
      const release = await within(subscribed, limit);
      if (this.#ended) return await release();
      this.#releases.push(release);
      this.#uris.add(uri);
    } catch {
      subscribed.then((release) => release()).catch(() => {});
    }
  }

  listChanged(list: "tools" | "prompts" | "resources"): void {
    if (this.#lists.has(list)) this.#notify(`notifications/${list}/list_changed`, {});
  }

  resourceUpdated(uri: string): void {
    if (this.#uris.has(uri)) this.#notify("notifications/resources/updated", { uri });
  }

  /** In the modern protocol, log messages belong to requests. */
  logged(): void {}

  end(): void {
    if (this.#ended) return;
    this.#stop();
    const result = { resultType: "complete", _meta: { [META.SUBSCRIPTION_ID]: this.#id } };
    this.#reply.end(writeResult(this.#id, JSON.stringify(result)));
  }

  #notify(method: string, params: JsonObject): void {
    if (this.#early !== undefined) return void this.#early.push({ method, params });
    this.#reply.send(writeNotification(method, { _meta: { [META.SUBSCRIPTION_ID]: this.#id }, ...params }));
  }

  #stop(): void {
    this.#ended = true;
    this.#abort.abort();
    this.#removeListener();
    this.onEnd();
    for (const release of this.#releases.splice(0)) release().catch(() => {});
  }
}

/** A server that does not acknowledge must not delay the other notifications. */
const ACKNOWLEDGE_MS = 5_000;
const RETRY_MS = 1_000;

interface TaskWatchOptions {
  readonly context: RequestContext;
  readonly tasks: TaskIds;
  readonly upstreamCaller: Caller;
  /** The task ids of the client. */
  readonly wanted: readonly string[];
  readonly signal: AbortSignal;
  /** Called when a task of the client has changed. */
  readonly changed: (params: JsonObject) => void;
}

/** Relays the status of tasks from the servers that run them. Opens the streams; resolves with the ids that the servers acknowledged. */
async function watchTasks(options: TaskWatchOptions): Promise<string[]> {
  const { tasks, context, wanted, upstreamCaller, signal, changed } = options;
  const caller = context.caller.name;
  const own = new Map(wanted.flatMap((id) => idOf(tasks, caller, id)));
  const acknowledged = new Set<string>();
  const acknowledgedAll = new AbortController();
  const onNotification = (method: string, params: JsonObject): void => {
    if (method === "notifications/tasks") {
      const { _meta, ...task } = tasks.sign(caller, params);
      return changed(task);
    }
    const { taskIds } = isObject(params.notifications) ? params.notifications : {};
    for (const id of Array.isArray(taskIds) ? (taskIds as unknown[]) : []) {
      const given = own.get(String(id));
      if (given !== undefined) acknowledged.add(given);
    }
    if (acknowledged.size === own.size) acknowledgedAll.abort();
  };
  const listen = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        const params = { notifications: { taskIds: [...own.keys()] } };
        const call = {
          method: "subscriptions/listen",
          params,
          caller: upstreamCaller,
          signal,
          onNotification,
        };
        await context.view.hubView.request({ ...call, timeoutMs: 0, maxTimeoutMs: 0 });
        return;
      } catch (error) {
        // A lost connection may be restored; any other error is the response of the server.
        if (!isPortolanError(error) || error.code !== "CONNECTION_LOST") return;
        await delay(RETRY_MS, undefined, { ref: false });
      }
    }
  };
  if (own.size === 0) return [];
  void listen().finally(() => acknowledgedAll.abort());
  await Promise.race([
    delay(ACKNOWLEDGE_MS, undefined, { ref: false }),
    new Promise((resolve) => acknowledgedAll.signal.addEventListener("abort", resolve, { once: true })),
  ]);
  return [...acknowledged];
}

/** The task id of the hub with the signed id of the client; empty for a task of another caller. */
function idOf(tasks: TaskIds, caller: string, given: string): [string, string][] {
  try {
    return [[String(tasks.verify(caller, "tasks/get", { taskId: given }).taskId), given]];
  } catch {
    return [];
  }
}
