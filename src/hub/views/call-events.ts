// Events about tool calls: duration, sizes and argument names, never values.

import { isPortolanError } from "../../errors/index.ts";
import type { JsonObject } from "../../model/index.ts";
import type { Call } from "../../upstream/index.ts";
import type { EventBus } from "../events.ts";

export async function emitCallEvents(
  called: Promise<JsonObject>,
  call: Call,
  { server, tool, events }: { server: string; tool: string; events: EventBus },
): Promise<JsonObject> {
  const started = performance.now();
  const seen = {
    server,
    tool,
    ...(call.caller?.account === undefined ? {} : { caller: call.caller.account }),
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
