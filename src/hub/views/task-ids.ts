// Ids of tasks through a hub: each says which server it belongs to, so that a later question about it finds that server.

import { isObject, type JsonObject } from "../../model/index.ts";

/** An alias has no dot. */
export function toHubTaskId(alias: string, id: string): string {
  return `${alias}.${id}`;
}

export function fromHubTaskId(id: string): { alias: string; id: string } | undefined {
  const dot = id.indexOf(".");
  return dot <= 0 ? undefined : { alias: id.slice(0, dot), id: id.slice(dot + 1) };
}

/** A result with the ids of its task as the hub's clients know them: as the modern extension has them, and as 2025-11-25 did. */
export function withHubTaskIds(result: JsonObject, alias: string): JsonObject {
  const own = typeof result.taskId === "string" ? { taskId: toHubTaskId(alias, result.taskId) } : {};
  const task =
    isObject(result.task) && typeof result.task.taskId === "string"
      ? { task: { ...result.task, taskId: toHubTaskId(alias, result.task.taskId) } }
      : {};
  return { ...result, ...own, ...task };
}

/** Whether a result is about a task; almost none is. */
export function hasTaskId(result: JsonObject): boolean {
  return result.resultType === "task" || result.taskId !== undefined || result.task !== undefined;
}
