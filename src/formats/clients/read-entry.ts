// One entry of a client's file as a server. Lenient in how things are spelled, strict in what they are.

import { didYouMean } from "../../errors/index.ts";
import type { Endpoint, Limits } from "../../model/index.ts";
import { expandHome, type ReadContext } from "./context.ts";
import { EntryReader, kindOf, type ReportAt } from "./entry-reader.ts";
import { KNOWN_KEYS } from "./fields.ts";
import { formatReference, parsePieces, withStandIns } from "./references.ts";
import { CLIENT_TITLES } from "./titles.ts";
import type { ClientId, ClientServer, Path } from "./types.ts";

export type EntryServer = Pick<
  ClientServer,
  "endpoint" | "enabled" | "limits" | "allowTools" | "blockTools" | "envFile"
>;

export interface EntryPlace {
  readonly path: Path;
  readonly client: ClientId;
  readonly context: ReadContext;
  readonly report: ReportAt;
}

const TRANSPORTS: Readonly<Record<string, Endpoint["transport"]>> = {
  stdio: "stdio",
  local: "stdio",
  http: "http",
  https: "http",
  streamablehttp: "http",
  remote: "http",
  sse: "sse",
  ws: "websocket",
  websocket: "websocket",
};

const PROTOCOLS: Readonly<Record<string, readonly string[]>> = {
  http: ["http:", "https:"],
  sse: ["http:", "https:"],
  websocket: ["ws:", "wss:"],
};

const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Undefined when the entry has a fault (which was reported) or declares no server of its own. */
export function readEntry(
  entry: Readonly<Record<string, unknown>>,
  place: EntryPlace,
): EntryServer | undefined {
  const reader = new EntryReader(entry, place);
  if (place.client === "opencode" && isOverride(reader)) {
    reader.report("info", [], "it only switches a server on or off that stands elsewhere");
    return undefined;
  }
  for (const { key, counts } of reader.fields.repeated)
    reader.report(
      "warning",
      [key],
      `${key} says again what ${counts} says; ${counts} counts`,
      "Keep one of them.",
    );
  const transport = readTransport(reader, place.client);
  if (transport === undefined) return undefined;
  const endpoint = transport === "stdio" ? readCommand(reader, place) : readUrl(reader, transport);
  const enabled = (reader.boolean("enabled") ?? true) && reader.boolean("disabled") !== true;
  const limits = readLimits(reader, place.client);
  const allowTools = reader.names("allowTools");
  const blockTools = reader.names("blockTools");
  const envFile = transport === "stdio" ? readEnvFile(reader, place) : undefined;
  if (reader.failed || endpoint === undefined) return undefined;
  return {
    endpoint,
    enabled,
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(allowTools === undefined ? {} : { allowTools }),
    ...(blockTools === undefined || blockTools.length === 0 ? {} : { blockTools }),
    ...(envFile === undefined ? {} : { envFile }),
  };
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
    const transport = TRANSPORTS[given.toLowerCase().replace(/[-_\s]/g, "")];
    if (transport === undefined)
      return reader.refuse(
        [key],
        `${key} is none that is known`,
        didYouMean(given, ["stdio", "http", "sse", "ws"]) ?? 'Use "stdio", "http", "sse" or "ws".',
      );
    if (transport === "stdio" ? command !== undefined : url !== undefined) return transport;
    const missing = transport === "stdio" ? "command" : "url";
    return reader.refuse(
      [key],
      `${key} says ${given}, but there is no ${missing}`,
      misspelled(reader) ?? `Add ${missing}.`,
    );
  }
  if (command !== undefined) {
    if (url !== undefined)
      reader.report(
        "warning",
        [url],
        `there are both ${command} and ${url}; ${command} counts`,
        'Add "type" to say which.',
      );
    return "stdio";
  }
  if (url === undefined)
    return reader.refuse(
      [],
      "there is neither a command nor a url",
      misspelled(reader) ?? "Add one of them.",
    );
  if (/^wss?:/i.test(String(reader.raw("url")))) return "websocket";
  // Gemini CLI tells the two transports apart by the name of the key.
  return client === "gemini" && url === "url" ? "sse" : "http";
}

function misspelled(reader: EntryReader): string | undefined {
  for (const key of reader.fields.unknown) {
    const hint = didYouMean(key, KNOWN_KEYS);
    if (hint !== undefined) return hint;
  }
  return undefined;
}

function readCommand(reader: EntryReader, place: EntryPlace): Endpoint | undefined {
  const key = reader.keyOf("command") ?? "command";
  const words = Array.isArray(reader.raw("command"))
    ? (reader.texts("command", "argument") ?? [])
    : [reader.text("command", "argument") ?? ""];
  const [first = "", ...rest] = words;
  if (first.trim() === "" && !reader.failed)
    reader.refuse([key], `${key} names no program`, "Name the program to start.");
  const args = [...rest, ...(reader.texts("args", "argument") ?? [])];
  if (args.length === 0 && /^[^\s\\/"']+\s+\S/.test(first))
    reader.report(
      "warning",
      [key],
      `${key} holds a program and its arguments`,
      "Put the arguments into args, one by one.",
    );
  const env = { ...readEnvVars(reader), ...reader.map("env", checkVariable) };
  const cwd = reader.text("cwd", "value");
  return {
    transport: "stdio",
    command: expandHome(first, place.context),
    ...(args.length === 0 ? {} : { args }),
    ...(Object.keys(env).length === 0 ? {} : { env }),
    ...(cwd === undefined ? {} : { cwd: wholePath(cwd, place.context.workspace, place.context) }),
  };
}

/** Codex names variables that a server gets from the environment. */
function readEnvVars(reader: EntryReader): Record<string, string> {
  const key = reader.keyOf("envVars");
  if (key === undefined) return {};
  const list = reader.raw("envVars");
  if (!Array.isArray(list)) {
    reader.refuse([key], `${key} is ${kindOf(list)}`, 'Make it a list of names, such as ["HOME"].');
    return {};
  }
  const found = list.flatMap((item: unknown, index): [string, string][] => {
    const name = typeof item === "string" ? item : (item as { name?: unknown } | null)?.name;
    if (
      typeof name === "string" &&
      checkVariable(name) === undefined &&
      parsePieces(`\${env:${name}}`).length === 1
    )
      return [[name, formatReference({ kind: "env", name })]];
    reader.refuse(
      [key, index],
      `${key}[${index}] names no environment variable`,
      "Write the name of the variable.",
    );
    return [];
  });
  return Object.fromEntries(found);
}

function checkVariable(name: string): string | undefined {
  return name === "" || /[=\0]/.test(name) ? "a name of a variable is empty or holds =" : undefined;
}

function readUrl(reader: EntryReader, transport: "http" | "sse" | "websocket"): Endpoint | undefined {
  const key = reader.keyOf("url") ?? "url";
  const url = reader.text("url", "value");
  const bearer = reader
    .variables("bearerTokenVariable")
    .map(([, name]): [string, string] => [
      "Authorization",
      `Bearer ${formatReference({ kind: "env", name })}`,
    ]);
  const fromEnv = reader
    .variables("envHeaders")
    .map(([header, name]): [string, string] => [header, formatReference({ kind: "env", name })]);
  const headers = {
    ...reader.map("headers", checkHeader),
    ...Object.fromEntries([...fromEnv, ...bearer]),
    ...readBearer(reader),
  };
  if (url === undefined) return undefined;
  const problem = checkUrl(url, transport);
  if (problem !== undefined) return reader.refuse([key], `${key} ${problem.message}`, problem.hint);
  return { transport, url, ...(Object.keys(headers).length === 0 ? {} : { headers }) };
}

function readBearer(reader: EntryReader): Record<string, string> {
  const key = reader.keyOf("bearerToken");
  const token = key === undefined ? undefined : reader.text("bearerToken", "value");
  if (key === undefined || token === undefined) return {};
  reader.report(
    "warning",
    [key],
    `${key} is refused by Codex`,
    "Name a variable instead: bearer_token_env_var.",
  );
  return { Authorization: `Bearer ${token}` };
}

function checkHeader(name: string, value: string): string | undefined {
  if (!HEADER_NAME.test(name)) return "a header has a name that headers cannot have";
  return /[\r\n]/.test(value) ? `${name} holds a line break` : undefined;
}

/** The message never repeats the URL, which may hold a secret. */
function checkUrl(url: string, transport: string): { message: string; hint: string } | undefined {
  const [first] = parsePieces(url);
  if (typeof first === "object") return undefined;
  const plain = withStandIns(url);
  const allowed = PROTOCOLS[transport] ?? [];
  const example = transport === "websocket" ? "wss://example.com/mcp" : "https://example.com/mcp";
  if (!URL.canParse(plain))
    return { message: "is no whole URL", hint: `Write it whole, such as ${example}.` };
  if (allowed.includes(new URL(plain).protocol)) return undefined;
  return {
    message: `does not start with ${allowed.map((protocol) => `${protocol}//`).join(" or ")}`,
    hint: `Write it such as ${example}, or correct the type.`,
  };
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

function readEnvFile(reader: EntryReader, { context, client }: EntryPlace): string | undefined {
  const key = reader.keyOf("envFile");
  const file = key === undefined ? undefined : reader.text("envFile", "value");
  if (key === undefined || file === undefined) return undefined;
  reader.report(
    "warning",
    [key],
    `the variables of ${key} are added by ${CLIENT_TITLES[client]}, not by Portolan`,
    "Name those that the server needs in env, as ${NAME}.",
  );
  return wholePath(file, context.workspace, context);
}

/** A path that starts with a reference is whole only later. */
function wholePath(path: string, base: string, context: ReadContext): string {
  const home = expandHome(path, context);
  return typeof parsePieces(home)[0] === "object" ? home : context.path.resolve(base, home);
}
