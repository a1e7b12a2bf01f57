// Entries of OpenCode: a command is one list, and the words are its own.

import type { Endpoint } from "../../../model/index.ts";
import { compact, type EntryWriter } from "./entry-writer.ts";

/** OpenCode 2 has `disabled` and two time limits where OpenCode 1 has `enabled` and one; it reads both. */
export function toOpencodeEntry(
  writer: EntryWriter,
  endpoint: Endpoint,
  second: boolean,
): Readonly<Record<string, unknown>> | undefined {
  if (endpoint.transport === "websocket") {
    writer.note("has no websocket servers in its file: left out");
    return undefined;
  }
  if (endpoint.transport === "sse") writer.note("finds out by itself that a server speaks HTTP+SSE");
  const disabled = writer.take("disabled");
  return compact({
    ...toTarget(writer, endpoint),
    ...(second ? { disabled } : { enabled: disabled === true ? false : undefined }),
    timeout: toTimeout(writer, second),
  });
}

function toTarget(writer: EntryWriter, endpoint: Endpoint): Readonly<Record<string, unknown>> {
  if (endpoint.transport !== "stdio")
    return { type: "remote", url: writer.value(endpoint.url), headers: writer.map(endpoint.headers) };
  const cwd = writer.take("cwd");
  return {
    type: "local",
    command: [endpoint.command, ...(endpoint.args ?? [])].map((word) => writer.argument(word)),
    environment: writer.map(endpoint.env),
    cwd: cwd === undefined ? undefined : writer.value(cwd),
  };
}

function toTimeout(writer: EntryWriter, second: boolean): unknown {
  const startup = writer.take("startTimeoutMs");
  if (!second) return startup;
  const request = writer.take("requestTimeoutMs");
  return startup === undefined && request === undefined ? undefined : compact({ startup, request });
}
