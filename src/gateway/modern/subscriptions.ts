// `subscriptions/listen`: one stream of a modern client that hears what it asked for, tagged with its own id.

import { isObject, META, RPC, type JsonObject, type RequestId, type RpcRequest } from "../../model/index.ts";
import {
  toRpcError,
  statusOf,
  RpcRefusal,
  writeError,
  writeNotification,
  writeResult,
} from "../common/messages.ts";
import { type Caller, within } from "../../upstream/index.ts";
import { requireTasks } from "../common/capabilities.ts";
import type { Envelope } from "../common/envelope.ts";
import type { Hearer } from "../common/view.ts";
import type { TaskIds } from "../common/task-ids.ts";
import { watchTasks } from "./task-notifications.ts";
import type { Reply, Visit } from "../common/types.ts";

const MAX_PER_PRINCIPAL = 256;
const MAX_URIS = 1_000;
/** A server that says nothing must not keep the others' news back. */
const SUBSCRIBE_MS = 5_000;

export class Listens {
  readonly #open = new Set<Listen>();
  readonly #tasks: TaskIds;
  #opened = 0;

  constructor(tasks: TaskIds) {
    this.#tasks = tasks;
  }

  /** Answers when the stream is over, which is when the client or the gateway ends it. */
  async open(visit: Visit, message: RpcRequest, envelope: Envelope, reply: Reply): Promise<void> {
    try {
      if (!reply.canStream)
        throw new RpcRefusal(RPC.INVALID_PARAMS, "subscriptions/listen needs a client that accepts streams", {
          status: 406,
        });
      const wanted = readFilter(message.params);
      if (wanted.taskIds.length > 0) requireTasks(envelope.capabilities);
      const own = [...this.#open].filter((listen) => listen.principal === visit.principal.name);
      if (own.length >= MAX_PER_PRINCIPAL)
        throw new RpcRefusal(RPC.INTERNAL, `This caller already has ${MAX_PER_PRINCIPAL} streams open`, {
          status: 429,
        });
      const listen = new Listen(visit, message.id, reply, wanted, (changed, signal) =>
        watchTasks({
          ...{ visit, tasks: this.#tasks, wanted: wanted.taskIds, changed, signal },
          caller: callerOf(visit, envelope, `stream ${(this.#opened += 1)}`),
        }),
      );
      this.#open.add(listen);
      listen.over = () => this.#open.delete(listen);
      await listen.begin();
    } catch (error) {
      const answer = toRpcError(error, true);
      const status = error instanceof RpcRefusal ? error.status : undefined;
      reply.end(writeError(message.id, answer), status ?? statusOf(answer));
    }
  }

  /** Ends every stream with the word that it was meant to end. */
  close(): void {
    for (const listen of [...this.#open]) listen.end();
  }
}

interface Filter {
  readonly lists: ReadonlySet<"tools" | "prompts" | "resources">;
  readonly uris: readonly string[];
  readonly taskIds: readonly string[];
}

function readFilter(params: JsonObject | undefined): Filter {
  const filter = params?.notifications;
  if (!isObject(filter)) throw new RpcRefusal(RPC.INVALID_PARAMS, "notifications must say what is wanted");
  const uris = stringsOf(filter, "resourceSubscriptions", "URIs");
  const taskIds = stringsOf(filter, "taskIds", "task ids");
  const lists = (["tools", "prompts", "resources"] as const).filter(
    (list) => filter[`${list}ListChanged`] === true,
  );
  return { lists: new Set(lists), uris, taskIds };
}

function stringsOf(filter: JsonObject, field: string, what: string): readonly string[] {
  const given = filter[field] ?? [];
  if (!Array.isArray(given) || given.length > MAX_URIS || !given.every((one) => typeof one === "string"))
    throw new RpcRefusal(RPC.INVALID_PARAMS, `${field} must be a list of at most ${MAX_URIS} ${what}`);
  return [...new Set<string>(given)];
}

function callerOf(
  { principal, channel, headers }: Visit,
  { clientInfo, capabilities }: Envelope,
  stream: string,
): Caller {
  return {
    id: channel ?? `${principal.name} ${stream}`,
    clientInfo: clientInfo ?? { name: "unnamed", version: "unknown" },
    capabilities,
    era: "modern",
    account: principal.name,
    scopes: principal.scopes,
    headers,
  };
}

/** Resolves with the ids of the tasks that will be reported. */
type WatchTasks = (changed: (task: JsonObject) => void, signal: AbortSignal) => Promise<string[]>;

class Listen implements Hearer {
  readonly principal: string;
  over: () => void = () => {};
  readonly #visit: Visit;
  readonly #id: RequestId;
  readonly #reply: Reply;
  readonly #wanted: Filter;
  readonly #uris = new Set<string>();
  readonly #lists = new Set<"tools" | "prompts" | "resources">();
  /** What there was to tell before the acknowledgement. */
  #early: { method: string; params: JsonObject }[] | undefined = [];
  readonly #watch: WatchTasks;
  readonly #stopped = new AbortController();
  #leave: () => void = () => {};
  #releases: (() => Promise<void>)[] = [];
  #ended = false;

  constructor(visit: Visit, id: RequestId, reply: Reply, wanted: Filter, watch: WatchTasks) {
    this.#watch = watch;
    this.principal = visit.principal.name;
    this.#visit = visit;
    this.#id = id;
    this.#reply = reply;
    this.#wanted = wanted;
    reply.gone = () => this.#stop();
  }

  /** Resolves when the client has been told what it will hear. News that come before wait until then. */
  async begin(): Promise<void> {
    const { view } = this.#visit.offer;
    const { capabilities } = view.describe();
    for (const list of this.#wanted.lists) if (capabilities[list] !== undefined) this.#lists.add(list);
    this.#leave = this.#visit.offer.join(this);
    const [taskIds] = await Promise.all([
      this.#watch((task) => this.#say("notifications/tasks", task), this.#stopped.signal),
      ...this.#wanted.uris.map((uri) => this.#subscribe(uri)),
    ]);
    if (this.#ended) return;
    const early = this.#early ?? [];
    this.#early = undefined;
    this.#say("notifications/subscriptions/acknowledged", {
      notifications: {
        ...Object.fromEntries([...this.#lists].map((list) => [`${list}ListChanged`, true])),
        ...(this.#uris.size > 0 ? { resourceSubscriptions: [...this.#uris] } : {}),
        ...(taskIds.length > 0 ? { taskIds } : {}),
      },
    });
    for (const { method, params } of early) this.#say(method, params);
  }

  /** One that cannot be had, or not in time, is not acknowledged: the client sees that it will not hear of it. */
  async #subscribe(uri: string): Promise<void> {
    const limit = { server: uri, what: "subscribing", ms: SUBSCRIBE_MS, signal: undefined };
    const subscribed = this.#visit.offer.view.subscribe(uri);
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
    if (this.#lists.has(list)) this.#say(`notifications/${list}/list_changed`, {});
  }

  resourceUpdated(uri: string): void {
    if (this.#uris.has(uri)) this.#say("notifications/resources/updated", { uri });
  }

  /** Log messages belong to requests, never here. */
  logged(): void {}

  end(): void {
    if (this.#ended) return;
    this.#stop();
    const result = { resultType: "complete", _meta: { [META.SUBSCRIPTION_ID]: this.#id } };
    this.#reply.end(writeResult(this.#id, JSON.stringify(result)));
  }

  #say(method: string, params: JsonObject): void {
    if (this.#early !== undefined) return void this.#early.push({ method, params });
    this.#reply.send(writeNotification(method, { _meta: { [META.SUBSCRIPTION_ID]: this.#id }, ...params }));
  }

  #stop(): void {
    this.#ended = true;
    this.#stopped.abort();
    this.#leave();
    this.over();
    for (const release of this.#releases.splice(0)) release().catch(() => {});
  }
}
