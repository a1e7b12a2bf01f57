// Ids of tasks as clients know them: sealed, so that only the caller whose call began a task can ask for it, or end it.

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

  /** A result or a question with its ids sealed; almost none has any, and is given back as it is. */
  seal(principal: string, value: JsonObject): JsonObject {
    const { taskId, task, _meta } = value;
    const related = isObject(_meta) ? _meta[RELATED_TASK] : undefined;
    if (taskId === undefined && task === undefined && related === undefined) return value;
    const sealed = (part: unknown): unknown =>
      isObject(part) && typeof part.taskId === "string"
        ? { ...part, taskId: this.#seal(principal, part.taskId) }
        : part;
    return {
      ...value,
      ...(typeof taskId === "string" ? { taskId: this.#seal(principal, taskId) } : {}),
      ...(task === undefined ? {} : { task: sealed(task) }),
      ...(related === undefined
        ? {}
        : { _meta: { ...(_meta as JsonObject), [RELATED_TASK]: sealed(related) } }),
    };
  }

  /** The params of a request about a task, with the server's own id. Throws for one that is not this caller's. */
  open(principal: string, method: string, params: JsonObject): JsonObject {
    const { taskId: given } = params;
    if (!method.startsWith("tasks/") || typeof given !== "string") return params;
    const cut = given.length - MAC_CHARS - 1;
    const id = given.slice(0, Math.max(cut, 0));
    const expected = this.#seal(principal, id);
    if (given.length !== expected.length || !timingSafeEqual(Buffer.from(given), Buffer.from(expected)))
      throw new RpcRefusal(RPC.INVALID_PARAMS, "There is no such task");
    return { ...params, taskId: id };
  }

  #seal(principal: string, id: string): string {
    const mac = createHmac("sha256", this.#key).update(JSON.stringify(["task", principal, id]));
    return `${id}~${mac.digest("base64url").slice(0, MAC_CHARS)}`;
  }
}
