// Task ids for clients: signed for the caller that started the task, so that no other caller can read or cancel it.

import { createHmac, timingSafeEqual } from "node:crypto";
import { isObject, RPC, type JsonObject } from "../../model/index.ts";
import { RpcRefusal } from "./messages.ts";

const RELATED_TASK = "io.modelcontextprotocol/related-task";
const MAC_CHARS = 22;

export class TaskIds {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

  /** Signs the task ids in a result or a server request. A value without task ids is returned unchanged. */
  sign(caller: string, value: JsonObject): JsonObject {
    const { taskId, task, _meta } = value;
    const related = isObject(_meta) ? _meta[RELATED_TASK] : undefined;
    if (taskId === undefined && task === undefined && related === undefined) return value;
    const signed = (part: unknown): unknown =>
      isObject(part) && typeof part.taskId === "string"
        ? { ...part, taskId: this.#sign(caller, part.taskId) }
        : part;
    return {
      ...value,
      ...(typeof taskId === "string" ? { taskId: this.#sign(caller, taskId) } : {}),
      ...(task === undefined ? {} : { task: signed(task) }),
      ...(related === undefined
        ? {}
        : { _meta: { ...(_meta as JsonObject), [RELATED_TASK]: signed(related) } }),
    };
  }

  /** Replaces a signed task id with the id of the server. Throws if the task belongs to another caller. */
  verify(caller: string, method: string, params: JsonObject): JsonObject {
    const { taskId: given } = params;
    if (!method.startsWith("tasks/") || typeof given !== "string") return params;
    const cut = given.length - MAC_CHARS - 1;
    const id = given.slice(0, Math.max(cut, 0));
    const expected = this.#sign(caller, id);
    if (given.length !== expected.length || !timingSafeEqual(Buffer.from(given), Buffer.from(expected)))
      throw new RpcRefusal(RPC.INVALID_PARAMS, "Task not found");
    return { ...params, taskId: id };
  }

  #sign(caller: string, id: string): string {
    const mac = createHmac("sha256", this.#key).update(JSON.stringify(["task", caller, id]));
    return `${id}~${mac.digest("base64url").slice(0, MAC_CHARS)}`;
  }
}
