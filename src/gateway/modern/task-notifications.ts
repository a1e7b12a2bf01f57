// Status notifications of tasks for one `subscriptions/listen` stream, relayed from the servers that run the tasks.

import { setTimeout as delay } from "node:timers/promises";
import { isPortolanError } from "../../errors/index.ts";
import { isObject, type JsonObject } from "../../model/index.ts";
import type { Caller } from "../../upstream/index.ts";
import type { TaskIds } from "../common/task-ids.ts";
import type { RequestContext } from "../common/types.ts";

/** A server that does not acknowledge must not delay the other notifications. */
const ACKNOWLEDGE_MS = 5_000;
const RETRY_MS = 1_000;

export interface TaskWatchOptions {
  readonly context: RequestContext;
  readonly tasks: TaskIds;
  readonly upstreamCaller: Caller;
  /** The task ids of the client. */
  readonly wanted: readonly string[];
  readonly signal: AbortSignal;
  /** Called when a task of the client has changed. */
  readonly changed: (params: JsonObject) => void;
}

/** Opens the streams; resolves with the ids that the servers acknowledged. */
export async function watchTasks(options: TaskWatchOptions): Promise<string[]> {
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
