// Entries of Codex: it expands nothing, but takes names of environment variables in fields of their own.

import type { Endpoint, Reference, UrlEndpoint } from "../../../model/index.ts";
import { compact, type EntryWriter } from "./entry-writer.ts";
import { soleVariable } from "../references/interpolation.ts";

export function toCodexEntry(
  writer: EntryWriter,
  endpoint: Endpoint,
): Readonly<Record<string, unknown>> | undefined {
  if (endpoint.transport === "sse" || endpoint.transport === "websocket") {
    writer.note(`has no ${endpoint.transport} servers in its file: left out`);
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
  { command, args, env = {} }: Extract<Endpoint, { transport: "stdio" }>,
): Readonly<Record<string, unknown>> {
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
  if (kind === "secret") writer.note(`has no store for secrets: set ${name} in its environment`);
  return name;
}
