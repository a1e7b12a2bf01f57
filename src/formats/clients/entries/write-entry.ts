// A server as an entry of a client's file: the settings that the client supports, and notes about the others.

import { type Endpoint, type Reference, type UrlEndpoint, toCommandLine } from "../../../model/index.ts";
import { soleVariable } from "../references/interpolation.ts";
import type { ClientId, ExportNote, WritableServer } from "../types.ts";
import { toPlainEntry } from "./common-entry.ts";
import { compact, EntryWriter } from "./entry-writer.ts";

interface WrittenEntry {
  /** Undefined if the client cannot have this server. */
  readonly entry: Readonly<Record<string, unknown>> | undefined;
  readonly notes: readonly ExportNote[];
}

/** `second` is for files of OpenCode 2. */
export function writeEntry(client: ClientId, server: WritableServer, second = false): WrittenEntry {
  const writer = new EntryWriter(client, server);
  const { endpoint } = server;
  if (endpoint.transport === "invoke") {
    writer.note(
      `cannot run an mcpfile: this server is left out. Connect the client to the gateway instead: portolan connect ${client}`,
    );
    return { entry: undefined, notes: writer.notes() };
  }
  if (endpoint.transport === "contracts") {
    writer.note(
      `does not support contracts: the contracts are left out. Connect the client to the gateway instead: portolan connect ${client}`,
    );
    return { entry: undefined, notes: writer.notes() };
  }
  if (endpoint.transport !== "stdio" && endpoint.program !== undefined) {
    writer.note(
      `cannot start a program and connect to it by URL: this server is left out. Connect the client to the gateway instead: portolan connect ${client}`,
    );
    return { entry: undefined, notes: writer.notes() };
  }
  const entry = write(writer, endpoint, second);
  if (entry === undefined) return { entry, notes: writer.notes() };
  if (writer.untaken().includes("disabled")) {
    writer.note("cannot disable a server in its config file: this disabled server is left out");
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

function toCodexEntry(
  writer: EntryWriter,
  endpoint: Endpoint,
): Readonly<Record<string, unknown>> | undefined {
  if (endpoint.transport === "sse" || endpoint.transport === "websocket") {
    writer.noteUnsupported(endpoint.transport);
    return undefined;
  }
  const start = writer.take("startTimeoutMs");
  const request = writer.take("requestTimeoutMs");
  return compact({
    ...(endpoint.transport === "stdio" ? toCommand(writer, endpoint) : toUrl(writer, endpoint)),
    enabled: writer.take("disabled") === true ? false : undefined,
    startup_timeout_sec: start === undefined ? undefined : start / 1000,
    tool_timeout_sec: request === undefined ? undefined : request / 1000,
    enabled_tools: writer.tools("allowTools"),
    disabled_tools: writer.tools("blockTools"),
  });
}

function toCommand(
  writer: EntryWriter,
  endpoint: Extract<Endpoint, { transport: "stdio" }>,
): Readonly<Record<string, unknown>> {
  const { command, args } = toCommandLine(endpoint);
  const { env = {} } = endpoint;
  const passed = Object.entries(env).flatMap(([name, text]) => {
    const variable = soleVariable(text);
    return variable?.name === name ? [variable] : [];
  });
  const rest = Object.entries(env).filter(([name]) => !passed.some((variable) => variable.name === name));
  const cwd = writer.take("cwd");
  return {
    command: writer.argument(command),
    args: writer.arguments(args),
    env: writer.map(Object.fromEntries(rest)),
    env_vars: passed.length === 0 ? undefined : passed.map((variable) => nameOf(writer, variable)),
    cwd: cwd === undefined ? undefined : writer.value(cwd),
  };
}

function toUrl(writer: EntryWriter, { url, headers = {} }: UrlEndpoint): Readonly<Record<string, unknown>> {
  const plain: [string, string][] = [];
  const fromEnv: [string, string][] = [];
  let bearer: string | undefined;
  for (const [name, text] of Object.entries(headers)) {
    const token = name.toLowerCase() === "authorization" ? soleVariable(text, "Bearer ") : undefined;
    const variable = soleVariable(text);
    if (token !== undefined) bearer = nameOf(writer, token);
    else if (variable !== undefined) fromEnv.push([name, nameOf(writer, variable)]);
    else plain.push([name, text]);
  }
  return {
    url: writer.value(url),
    bearer_token_env_var: bearer,
    http_headers: writer.map(Object.fromEntries(plain)),
    env_http_headers: fromEnv.length === 0 ? undefined : Object.fromEntries(fromEnv),
  };
}

function nameOf(writer: EntryWriter, { kind, name }: Reference): string {
  if (kind === "secret")
    writer.note(`has no secret store: set the environment variable ${name} for this client`);
  return name;
}

/** OpenCode 2 has `disabled` and two time limits where OpenCode 1 has `enabled` and one; it reads both. */
function toOpencodeEntry(
  writer: EntryWriter,
  endpoint: Endpoint,
  second: boolean,
): Readonly<Record<string, unknown>> | undefined {
  if (endpoint.transport === "websocket") {
    writer.noteUnsupported(endpoint.transport);
    return undefined;
  }
  if (endpoint.transport === "sse") writer.note("detects HTTP+SSE by itself");
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
  const { command, args } = toCommandLine(endpoint);
  return {
    type: "local",
    command: [command, ...args].map((word) => writer.argument(word)),
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

/** An item of the list `services.mcp`. */
function toAxleEntry(writer: EntryWriter, endpoint: Endpoint): Readonly<Record<string, unknown>> | undefined {
  if (endpoint.transport === "stdio") {
    const { command, args } = toCommandLine(endpoint);
    return compact({
      transport: "stdio",
      command: writer.argument(command),
      args: writer.arguments(args),
      env: writer.map(endpoint.env),
    });
  }
  if (endpoint.transport === "http")
    return compact({
      transport: "http",
      url: writer.value(endpoint.url),
      headers: writer.map(endpoint.headers),
    });
  writer.noteUnsupported(endpoint.transport);
  return undefined;
}
