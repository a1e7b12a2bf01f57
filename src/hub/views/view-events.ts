// Events of a view: list changes that its listeners have not seen, events relayed from its servers, and events
// about tool calls.

import { Emitter, type UpstreamEvents, type Call } from "../../upstream/index.ts";
import type { Merged } from "./merge.ts";
import { isPortolanError } from "../../errors/index.ts";
import type { JsonObject } from "../../model/index.ts";
import type { EventBus } from "../events.ts";

type Lists = Pick<Merged, "tools" | "prompts" | "resources" | "templates">;

export class ViewEvents {
  readonly #emitter = new Emitter<UpstreamEvents>();
  /** The lists that the listeners know; undefined without listeners. */
  #known: Lists | undefined;

  on<E extends keyof UpstreamEvents>(
    event: E,
    listener: (...args: UpstreamEvents[E]) => void,
    now: Merged,
  ): () => void {
    // From now on, changes are relative to the current lists.
    this.#known ??= toLists(now);
    return this.#emitter.on(event, listener);
  }

  /** Emits an event for each list that really changed. */
  announce(merged: Merged): void {
    if (this.#known === undefined) return;
    const known = this.#known;
    const now = toLists(merged);
    this.#known = now;
    if (isChanged(known.tools, now.tools)) this.#emitter.emit("toolsChanged");
    if (isChanged(known.prompts, now.prompts)) this.#emitter.emit("promptsChanged");
    if (isChanged(known.resources, now.resources) || isChanged(known.templates, now.templates))
      this.#emitter.emit("resourcesChanged");
  }

  relay<E extends "resourceUpdated" | "log">(event: E, ...args: UpstreamEvents[E]): void {
    this.#emitter.emit(event, ...args);
  }

  close(): void {
    this.#emitter.clear();
  }
}

/** Without the routing tables, which would keep removed servers in memory. */
function toLists({ tools, prompts, resources, templates }: Merged): Lists {
  return { tools, prompts, resources, templates };
}

/** Definitions of unchanged servers are the same objects, so that few are compared by their text. */
function isChanged(before: readonly JsonObject[], now: readonly JsonObject[]): boolean {
  return (
    before !== now &&
    (before.length !== now.length ||
      now.some((one, at) => one !== before[at] && JSON.stringify(one) !== JSON.stringify(before[at])))
  );
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
