// A server as an entry of a client's file: what the client understands, and notes about the rest.

import type { Endpoint } from "../../../model/index.ts";
import { toAxleEntry } from "./axle.ts";
import { toCodexEntry } from "./codex.ts";
import { EntryWriter } from "./entry-writer.ts";
import { toOpencodeEntry } from "./opencode.ts";
import { toPlainEntry } from "./common-entry.ts";
import type { ClientId, ExportNote, WritableServer } from "../types.ts";

export interface WrittenEntry {
  /** Undefined when the client must not, or cannot, have this server. */
  readonly entry: Readonly<Record<string, unknown>> | undefined;
  readonly notes: readonly ExportNote[];
}

/** `second` is for files of OpenCode 2. */
export function writeEntry(client: ClientId, server: WritableServer, second = false): WrittenEntry {
  const writer = new EntryWriter(client, server);
  const { endpoint } = server;
  if (endpoint.transport === "invoke") {
    writer.note("cannot have the tools of an mcpfile in its file: left out; give it the gateway instead");
    return { entry: undefined, notes: writer.notes() };
  }
  if (endpoint.transport === "contracts") {
    writer.note("cannot have contracts in its file: left out; give it the gateway instead");
    return { entry: undefined, notes: writer.notes() };
  }
  if (endpoint.transport !== "stdio" && endpoint.program !== undefined) {
    writer.note("starts no program that is reached by an address: left out; give it the gateway instead");
    return { entry: undefined, notes: writer.notes() };
  }
  const entry = write(writer, endpoint, second);
  if (entry === undefined) return { entry, notes: writer.notes() };
  if (writer.untaken().includes("disabled")) {
    writer.note("cannot have a server switched off in its file: left out");
    return { entry: undefined, notes: writer.notes() };
  }
  writer.noteUntaken();
  return { entry, notes: writer.notes() };
}

function write(
  writer: EntryWriter,
  endpoint: Endpoint,
  second: boolean,
): Readonly<Record<string, unknown>> | undefined {
  switch (writer.client) {
    case "codex":
      return toCodexEntry(writer, endpoint);
    case "opencode":
      return toOpencodeEntry(writer, endpoint, second);
    case "axle":
      return toAxleEntry(writer, endpoint);
    default:
      return toPlainEntry(writer, endpoint);
  }
}
