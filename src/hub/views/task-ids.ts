// Task ids in a hub: the alias of the server is part of the id, so that later requests reach that server.

import { isObject, type JsonObject } from "../../model/index.ts";

/** An alias contains no dot. */
export function toHubTaskId(alias: string, id: string): string {
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
