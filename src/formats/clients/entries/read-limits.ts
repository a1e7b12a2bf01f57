// How much patience an entry asks for.

import type { Limits } from "../../../model/index.ts";
import type { EntryReader } from "./entry-reader.ts";
import type { ClientId } from "../types.ts";

export function readLimits(reader: EntryReader, client: ClientId): Partial<Limits> {
  const start = reader.milliseconds("startSeconds", 1000) ?? reader.milliseconds("startMilliseconds", 1);
  const request = reader.milliseconds("requestSeconds", 1000);
  return {
    ...(start === undefined ? {} : { startTimeoutMs: start }),
    ...(request === undefined ? {} : { requestTimeoutMs: request }),
    ...readTimeout(reader, client),
  };
}

/** `timeout` means another thing in every client; where its meaning is not known it is left alone. */
function readTimeout(reader: EntryReader, client: ClientId): Partial<Limits> {
  if (client === "claude-code" || client === "gemini") {
    const request = reader.milliseconds("timeout", 1);
    return request === undefined ? {} : { requestTimeoutMs: request };
  }
  if (client !== "opencode" || reader.raw("timeout") === undefined) return {};
  const given = reader.raw("timeout");
  if (typeof given !== "object") {
    const start = reader.milliseconds("timeout", 1);
    return start === undefined ? {} : { startTimeoutMs: start };
  }
  const { startup, request, execution } = given as Record<string, unknown>;
  const times = { startTimeoutMs: startup, requestTimeoutMs: request ?? execution };
  return Object.fromEntries(
    Object.entries(times).filter(([, time]) => Number.isSafeInteger(time) && (time as number) > 0),
  );
}
