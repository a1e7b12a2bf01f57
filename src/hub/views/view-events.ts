// Events of a view: list changes that its listeners have not seen, events relayed from its servers, and events
// about tool calls.

import { Emitter, type UpstreamEvents, type Call } from "../../upstream/index.ts";
import type { ListName } from "../member/inventory.ts";
import type { Merged } from "./merge.ts";
import { isPortolanError } from "../../errors/index.ts";
import type { JsonObject } from "../../model/index.ts";
import type { EventBus } from "../events.ts";

export class ViewEvents {
  readonly #emitter = new Emitter<UpstreamEvents>();
  #lastTools: string | undefined;
  #lastPrompts: string | undefined;
  #lastResources: string | undefined;

  on<E extends keyof UpstreamEvents>(
    event: E,
    listener: (...args: UpstreamEvents[E]) => void,
    now: Merged,
  ): () => void {
    // From now on, changes are relative to the current lists.
    this.#lastTools ??= JSON.stringify(now.tools);
    this.#lastPrompts ??= JSON.stringify(now.prompts);
    this.#lastResources ??= resourcesText(now);
    return this.#emitter.on(event, listener);
  }

  /** Emits an event for each of these lists that really changed. */
  announce(lists: ReadonlySet<ListName>, now: Merged): void {
    if (lists.has("tools") && this.#lastTools !== (this.#lastTools = JSON.stringify(now.tools)))
      this.#emitter.emit("toolsChanged");
    if (lists.has("prompts") && this.#lastPrompts !== (this.#lastPrompts = JSON.stringify(now.prompts)))
      this.#emitter.emit("promptsChanged");
    if (lists.has("resources") && this.#lastResources !== (this.#lastResources = resourcesText(now)))
      this.#emitter.emit("resourcesChanged");
  }

  relay<E extends "resourceUpdated" | "log">(event: E, ...args: UpstreamEvents[E]): void {
    this.#emitter.emit(event, ...args);
  }

  close(): void {
    this.#emitter.clear();
  }
}

function resourcesText({ resources, templates }: Merged): string {
  return JSON.stringify([resources, templates]);
}

/** Emits the events of one tool call: duration, sizes and argument names, never values. */
export async function emitCallEvents(
  called: Promise<JsonObject>,
  call: Call,
  { server, tool, events }: { server: string; tool: string; events: EventBus },
): Promise<JsonObject> {
  const started = performance.now();
  const seen = {
    server,
    tool,
    caller: call.caller?.account,
    argumentKeys: Object.keys(call.params?.arguments ?? {}).toSorted(),
    inputBytes: size(call.params?.arguments),
  };
  try {
    const result = await called;
    const done = { ...seen, durationMs: performance.now() - started, outputBytes: size(result) };
    if (result.isError === true) events.emit({ type: "mcp.tool_failed", ...done, code: "TOOL_FAILED" });
    else events.emit({ type: "mcp.tool_called", ...done });
    return result;
  } catch (error) {
    const failed = isPortolanError(error) ? { code: error.code, reason: error.message } : {};
    events.emit({
      type: "mcp.tool_failed",
      ...seen,
      durationMs: performance.now() - started,
      ...failed,
    });
    throw error;
  }
}

function size(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value) ?? "");
  } catch {
    return -1;
  }
}
