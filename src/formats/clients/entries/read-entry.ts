// One entry of a client's file as a server: any known spelling of a field is accepted, but its value must be valid.

import { isWebSocketUrl } from "../../../base/net/urls.ts";
import { didYouMean } from "../../../errors/index.ts";
import type { Endpoint, Limits } from "../../../model/index.ts";
import type { ReadContext } from "../known/context.ts";
import { CLIENT_TITLES } from "../known/detect.ts";
import type { ClientId, ClientServer, Path } from "../types.ts";
import { EntryReader, kindOf, type ReportAt } from "./entry-reader.ts";
import { KNOWN_KEYS } from "./fields.ts";
import { readCommand, readUrl, wholePath } from "./read-endpoint.ts";
import { readSandbox } from "./vscode-sandbox.ts";

export type EntryServer = Pick<
  ClientServer,
  "endpoint" | "enabled" | "limits" | "allowTools" | "blockTools" | "envFile" | "launch"
>;

interface EntryPlace {
  readonly path: Path;
  readonly client: ClientId;
  readonly context: ReadContext;
  readonly report: ReportAt;
}

const TRANSPORTS: ReadonlyMap<string, Endpoint["transport"]> = new Map([
  ["stdio", "stdio"],
  ["local", "stdio"],
  ["http", "http"],
  ["https", "http"],
  ["streamablehttp", "http"],
  ["remote", "http"],
  ["sse", "sse"],
  ["ws", "websocket"],
  ["websocket", "websocket"],
]);

/** Returns undefined if the entry has an error, which was reported, or if it is no server of its own. */
export function readEntry(
  entry: Readonly<Record<string, unknown>>,
  place: EntryPlace,
): EntryServer | undefined {
  const reader = new EntryReader(entry, place);
  if (place.client === "opencode" && isOverride(reader)) {
    reader.report(
      "info",
      [],
      "Portolan ignores this entry: it only enables or disables a server that is declared elsewhere",
    );
    return undefined;
  }
  for (const { key, counts } of reader.fields.repeated)
    reader.report(
      "warning",
      [key],
      `${key} and ${counts} are the same setting; Portolan uses ${counts}`,
      "Keep one of them.",
    );
  const transport = readTransport(reader, place.client);
  const endpoint = readEndpoint(reader, transport, place.context);
  const enabled = (reader.boolean("enabled") ?? true) && reader.boolean("disabled") !== true;
  const limits = readLimits(reader, place.client);
  const allowTools = reader.names("allowTools");
  const blockTools = reader.names("blockTools");
  const envFile = transport === "stdio" ? readEnvFile(reader, place) : undefined;
  const launch =
    place.client === "vscode" && transport === "stdio" ? readSandbox(reader, place.context) : undefined;
  if (reader.failed || endpoint === undefined) return undefined;
  return {
    endpoint,
    enabled,
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(allowTools === undefined ? {} : { allowTools }),
    ...(blockTools === undefined || blockTools.length === 0 ? {} : { blockTools }),
    ...(envFile === undefined ? {} : { envFile }),
    ...(launch === undefined ? {} : { launch }),
  };
}

/** If the transport is unknown, checks the fields of all transports, so that all errors are reported at once. */
function readEndpoint(
  reader: EntryReader,
  transport: Endpoint["transport"] | undefined,
  context: ReadContext,
): Endpoint | undefined {
  if (transport === "http" || transport === "sse" || transport === "websocket")
    return readUrl(reader, transport);
  const command = readCommand(reader, context);
  if (transport === "stdio") return command;
  readUrl(reader, isWebSocketUrl(String(reader.raw("url"))) ? "websocket" : "http");
  return undefined;
}

/** OpenCode lets a file switch servers that an organisation provides. */
function isOverride(reader: EntryReader): boolean {
  return (
    reader.fields.unknown.length === 0 &&
    [...reader.fields.keys.keys()].every((field) => field === "enabled" || field === "disabled") &&
    reader.fields.keys.size > 0
  );
}

function readTransport(reader: EntryReader, client: ClientId): Endpoint["transport"] | undefined {
  const command = reader.keyOf("command");
  const url = reader.keyOf("url");
  const key = reader.keyOf("type");
  if (key !== undefined) {
    const given = reader.raw("type");
    if (typeof given !== "string")
      return reader.refuse(
        [key],
        `${key} is ${kindOf(given)}`,
        'Write type, url and the rest side by side, for example "type": "http".',
      );
    const transport = TRANSPORTS.get(given.toLowerCase().replace(/[-_\s]/g, ""));
    if (transport === undefined)
      return reader.refuse(
        [key],
        `${key} is not a known transport`,
        didYouMean(given, ["stdio", "http", "sse", "ws"]) ?? 'Use "stdio", "http", "sse" or "ws".',
      );
    if (transport === "stdio" ? command !== undefined : url !== undefined) return transport;
    const missing = transport === "stdio" ? "command" : "url";
    return reader.refuse(
      [key],
      `${missing} is missing, but ${key} is ${given}`,
      misspelled(reader) ?? `Add ${missing}.`,
    );
  }
  if (command !== undefined) {
    if (url !== undefined)
      reader.report(
        "warning",
        [url],
        `the entry has both ${command} and ${url}; Portolan uses ${command}`,
        'Add "type" to choose one of them.',
      );
    return "stdio";
  }
  if (url === undefined)
    return reader.refuse(
      [],
      "the entry has neither a command nor a url",
      misspelled(reader) ?? "Add one of them.",
    );
  if (isWebSocketUrl(String(reader.raw("url")))) return "websocket";
  // Gemini CLI distinguishes the two transports by the name of the key.
  return client === "gemini" && url === "url" ? "sse" : "http";
}

function misspelled(reader: EntryReader): string | undefined {
  for (const key of reader.fields.unknown) {
    const hint = didYouMean(key, KNOWN_KEYS);
    if (hint !== undefined) return hint;
  }
  return undefined;
}

function readEnvFile(reader: EntryReader, { context, client }: EntryPlace): string | undefined {
  const key = reader.keyOf("envFile");
  const file = key === undefined ? undefined : reader.text("envFile", "value");
  if (key === undefined || file === undefined) return undefined;
  reader.report(
    "warning",
    [key],
    `${CLIENT_TITLES[client]} reads the variables of ${key}, but Portolan does not`,
    "List the variables that the server needs under env, as ${NAME}.",
  );
  return wholePath(file, context);
}

function readLimits(reader: EntryReader, client: ClientId): Partial<Limits> {
  const start = reader.milliseconds("startSeconds", 1000) ?? reader.milliseconds("startMilliseconds", 1);
  const request = reader.milliseconds("requestSeconds", 1000);
  return {
    ...(start === undefined ? {} : { startTimeoutMs: start }),
    ...(request === undefined ? {} : { requestTimeoutMs: request }),
    ...readTimeout(reader, client),
  };
}

/** `timeout` has a different meaning in each client; it is ignored where the meaning is unknown. */
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
