// Status notifications of tasks for one `subscriptions/listen` stream, relayed from the servers that run the tasks.

import { isPortolanError } from "../../errors/index.ts";
import { isObject, type JsonObject } from "../../model/index.ts";
import type { Caller } from "../../upstream/index.ts";
import { pause } from "../common/pause.ts";
import type { TaskIds } from "../common/task-ids.ts";
import type { Visit } from "../common/types.ts";

/** A server that does not acknowledge must not keep the other notifications back. */
const ACKNOWLEDGE_MS = 5_000;
const RETRY_MS = 1_000;

export interface TaskWatchOptions {
  readonly visit: Visit;
  readonly tasks: TaskIds;
  readonly caller: Caller;
  /** The task ids of the client. */
  readonly wanted: readonly string[];
  readonly signal: AbortSignal;
  /** A task of the client has changed. */
  readonly changed: (params: JsonObject) => void;
}

/** Opens the streams; resolves with the ids that the servers acknowledged. */
export async function watchTasks(options: TaskWatchOptions): Promise<string[]> {
  const { tasks, visit, wanted, caller, signal, changed } = options;
  const principal = visit.principal.name;
  const own = new Map(wanted.flatMap((id) => idOf(tasks, principal, id)));
  const acknowledged = new Set<string>();
  const heard = new AbortController();
  const onNotification = (method: string, params: JsonObject): void => {
    if (method === "notifications/tasks") {
      const { _meta, ...task } = tasks.seal(principal, params);
      return changed(task);
    }
    const { taskIds } = isObject(params.notifications) ? params.notifications : {};
    for (const id of Array.isArray(taskIds) ? (taskIds as unknown[]) : []) {
      const given = own.get(String(id));
      if (given !== undefined) acknowledged.add(given);
    }
    if (acknowledged.size === own.size) heard.abort();
  };
  const listen = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        const params = { notifications: { taskIds: [...own.keys()] } };
        const call = { method: "subscriptions/listen", params, caller, signal, onNotification };
        await visit.offer.view.request({ ...call, timeoutMs: 0, maxTimeoutMs: 0 });
        return;
      } catch (error) {
        // The connection may come back; anything else is the server's answer.
        if (!isPortolanError(error) || error.code !== "CONNECTION_LOST") return;
        await pause(RETRY_MS);
      }
    }
  };
  if (own.size === 0) return [];
  void listen().finally(() => heard.abort());
  await Promise.race([
    pause(ACKNOWLEDGE_MS),
    new Promise((resolve) => heard.signal.addEventListener("abort", resolve, { once: true })),
  ]);
  return [...acknowledged];
}

/** The id as the hub knows it, and as the client does; nothing for a task of another caller. */
function idOf(tasks: TaskIds, principal: string, given: string): [string, string][] {
  try {
    return [[String(tasks.open(principal, "tasks/get", { taskId: given }).taskId), given]];
  } catch {
    return [];
  }
}
