// How an entry says that its server is reached: the program to start, or the address to call.

import { HTTP_SCHEMES, WEBSOCKET_SCHEMES } from "../../../base/net/urls.ts";
import { type Endpoint, formatReference } from "../../../model/index.ts";
import { expandHome, type ReadContext } from "../known/context.ts";
import { type EntryReader, kindOf } from "./entry-reader.ts";
import { parsePieces, withPlaceholders } from "../references/pieces.ts";

const PROTOCOLS: Readonly<Record<string, readonly string[]>> = {
  http: HTTP_SCHEMES,
  sse: HTTP_SCHEMES,
  websocket: WEBSOCKET_SCHEMES,
};

const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

export function readCommand(reader: EntryReader, context: ReadContext): Endpoint | undefined {
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
      `${key} contains a program and its arguments`,
      "Put the arguments into args, one by one.",
    );
  const env = { ...readEnvVars(reader), ...reader.map("env", checkVariable) };
  const cwd = reader.text("cwd", "value");
  return {
    transport: "stdio",
    command: expandHome(first, context),
    ...(args.length === 0 ? {} : { args }),
    ...(Object.keys(env).length === 0 ? {} : { env }),
    ...(cwd === undefined ? {} : { cwd: wholePath(cwd, context) }),
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
  return name === "" || /[=\0]/.test(name) ? "a name of a variable is empty or contains =" : undefined;
}

export function readUrl(reader: EntryReader, transport: "http" | "sse" | "websocket"): Endpoint | undefined {
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
  const problem = checkUrl(url, transport, reader.keyOf("type"));
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
    `Codex does not accept ${key}`,
    "Name a variable instead: bearer_token_env_var.",
  );
  return { Authorization: `Bearer ${token}` };
}

function checkHeader(name: string, value: string): string | undefined {
  if (!HEADER_NAME.test(name)) return "a header has an invalid name";
  return /[\r\n]/.test(value) ? `${name} contains a line break` : undefined;
}

/** The message never repeats the URL, which may hold a secret. */
function checkUrl(
  url: string,
  transport: string,
  typeKey: string | undefined,
): { message: string; hint: string } | undefined {
  const [first] = parsePieces(url);
  if (typeof first === "object") return undefined;
  const plain = withPlaceholders(url);
  const allowed = PROTOCOLS[transport] ?? [];
  const example = transport === "websocket" ? "wss://example.com/mcp" : "https://example.com/mcp";
  if (!URL.canParse(plain))
    return { message: "is not a URL", hint: `Write the complete URL, such as ${example}.` };
  if (allowed.includes(new URL(plain).protocol)) return undefined;
  return {
    message: `must start with ${allowed.map((protocol) => `${protocol}//`).join(" or ")}`,
    hint: `Write a URL such as ${example}${typeKey === undefined ? "" : `, or correct ${typeKey}`}.`,
  };
}

/** A path that starts with a reference is whole only later. */
export function wholePath(path: string, context: ReadContext): string {
  const home = expandHome(path, context);
  return typeof parsePieces(home)[0] === "object" ? home : context.path.resolve(context.workspace, home);
}
