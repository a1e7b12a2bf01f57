// Entries of the clients with similar formats: one table of the settings that each supports.

import { type Endpoint, toCommandLine } from "../../../model/index.ts";
import { compact, type EntryWriter } from "./entry-writer.ts";
import type { ClientId } from "../types.ts";
import { writeSandbox } from "./vscode-sandbox.ts";

type PlainClient = Exclude<ClientId, "codex" | "opencode" | "axle">;

interface Abilities {
  /** Value of `type` for a transport; null if the client has no `type`, undefined if it does not support the transport. */
  readonly types: Readonly<Record<Endpoint["transport"], string | null | undefined>>;
  readonly urlKey: (transport: string) => string;
  readonly cwd?: true;
  readonly envFile?: true;
  readonly disabled?: true;
  readonly timeout?: true;
  readonly allowKey?: string;
  readonly blockKey?: string;
  readonly sandbox?: true;
}

const url = (): string => "url";

const ABILITIES: Readonly<Record<PlainClient, Abilities>> = {
  "claude-code": {
    types: { stdio: "stdio", http: "http", sse: "sse", websocket: "ws" },
    urlKey: url,
    timeout: true,
  },
  "claude-desktop": {
    types: { stdio: null, http: undefined, sse: undefined, websocket: undefined },
    urlKey: url,
  },
  cursor: {
    types: { stdio: null, http: null, sse: "sse", websocket: undefined },
    urlKey: url,
    envFile: true,
  },
  windsurf: {
    types: { stdio: null, http: null, sse: null, websocket: undefined },
    urlKey: () => "serverUrl",
    disabled: true,
    blockKey: "disabledTools",
  },
  vscode: {
    types: { stdio: "stdio", http: "http", sse: "sse", websocket: undefined },
    urlKey: url,
    cwd: true,
    envFile: true,
    sandbox: true,
  },
  gemini: {
    types: { stdio: null, http: null, sse: null, websocket: undefined },
    urlKey: (transport) => (transport === "http" ? "httpUrl" : "url"),
    cwd: true,
    timeout: true,
    allowKey: "includeTools",
    blockKey: "excludeTools",
  },
};

export function toPlainEntry(
  writer: EntryWriter,
  endpoint: Endpoint,
): Readonly<Record<string, unknown>> | undefined {
  const can = ABILITIES[writer.client as PlainClient];
  const type = can.types[endpoint.transport];
  if (type === undefined) {
    writer.noteUnsupported(endpoint.transport);
    return undefined;
  }
  if (writer.client === "windsurf" && endpoint.transport === "sse") writer.note("detects HTTP+SSE by itself");
  return compact({
    type: type ?? undefined,
    ...toTarget(writer, endpoint, can),
    disabled: can.disabled === undefined ? undefined : writer.take("disabled"),
    timeout: can.timeout === undefined ? undefined : writer.take("requestTimeoutMs"),
    ...(can.allowKey === undefined ? {} : { [can.allowKey]: writer.tools("allowTools") }),
    ...(can.blockKey === undefined ? {} : { [can.blockKey]: writer.tools("blockTools") }),
  });
}

function toTarget(
  writer: EntryWriter,
  endpoint: Endpoint,
  can: Abilities,
): Readonly<Record<string, unknown>> {
  if (endpoint.transport !== "stdio")
    return {
      [can.urlKey(endpoint.transport)]: writer.value(endpoint.url),
      headers: writer.map(endpoint.headers),
    };
  const cwd = can.cwd === undefined ? undefined : writer.take("cwd");
  const envFile = can.envFile === undefined ? undefined : writer.take("envFile");
  const { command, args } = toCommandLine(endpoint);
  return {
    command: writer.argument(command),
    args: writer.arguments(args),
    env: writer.map(endpoint.env),
    envFile: envFile === undefined ? undefined : writer.value(envFile),
    cwd: cwd === undefined ? undefined : writer.value(cwd),
    ...(can.sandbox === true ? writeSandbox(writer, writer.takeSandbox()) : {}),
  };
}
