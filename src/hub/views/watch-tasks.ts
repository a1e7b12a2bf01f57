// `subscriptions/listen` for tasks in a hub: one stream at each server that has one of the tasks.

import { isObject, type JsonObject } from "../../model/index.ts";
import type { Call } from "../../upstream/index.ts";
import type { Member } from "../member/member.ts";
import { fromHubTaskId, toHubTaskId } from "./task-ids.ts";

/** Resolves when every stream has ended. Unknown tasks are left out, so that they are not acknowledged. */
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
