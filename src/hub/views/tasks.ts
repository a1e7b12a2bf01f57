// Tasks in a hub: the alias of the server is part of a task id, so that later requests and streams reach that server.

import { isObject, type JsonObject } from "../../model/index.ts";
import type { Call } from "../../upstream/index.ts";
import type { Member } from "../member/member.ts";

/** An alias contains no dot. */
function toHubTaskId(alias: string, id: string): string {
  return `${alias}.${id}`;
}

export function fromHubTaskId(id: string): { alias: string; id: string } | undefined {
  const dot = id.indexOf(".");
  return dot <= 0 ? undefined : { alias: id.slice(0, dot), id: id.slice(dot + 1) };
}

/** The result with task ids of the hub, in the fields of the modern extension and of 2025-11-25. */
export function withHubTaskIds(result: JsonObject, alias: string): JsonObject {
  const own = typeof result.taskId === "string" ? { taskId: toHubTaskId(alias, result.taskId) } : {};
  const task =
    isObject(result.task) && typeof result.task.taskId === "string"
      ? { task: { ...result.task, taskId: toHubTaskId(alias, result.task.taskId) } }
      : {};
  return { ...result, ...own, ...task };
}

/** True when a result is about a task. */
export function hasTaskId(result: JsonObject): boolean {
  return result.resultType === "task" || result.taskId !== undefined || result.task !== undefined;
}

/**
 * `subscriptions/listen` for tasks: opens one stream at each server that has one of the tasks. Resolves when every stream
 * has ended. Unknown tasks are left out, so that they are not acknowledged.
 */
export async function watchTasks(call: Call, members: readonly Member[]): Promise<JsonObject> {
  const byMember = new Map<Member, string[]>();
  for (const id of taskIdsOf(call.params)) {
    const task = fromHubTaskId(id);
    const owner = members.find(({ alias }) => alias === task?.alias);
    if (task === undefined || owner === undefined) continue;
    const ids = byMember.get(owner);
    if (ids === undefined) byMember.set(owner, [task.id]);
    else ids.push(task.id);
  }
  await Promise.all(
    [...byMember].map(([member, taskIds]) =>
      member.request({
        ...call,
        params: { notifications: { taskIds } },
        onNotification: (method, params) => call.onNotification?.(method, withHubIds(params, member.alias)),
      }),
    ),
  );
  return {};
}

/** The task ids in a filter or its acknowledgement. */
function taskIdsOf(params: JsonObject | undefined): string[] {
  const ids = isObject(params?.notifications) ? params.notifications.taskIds : undefined;
  return Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [];
}

function withHubIds(params: JsonObject, alias: string): JsonObject {
  if (typeof params.taskId === "string") return { ...params, taskId: toHubTaskId(alias, params.taskId) };
  if (!isObject(params.notifications)) return params;
  const taskIds = taskIdsOf(params).map((id) => toHubTaskId(alias, id));
  return { ...params, notifications: { ...params.notifications, taskIds } };
}
