// How a server's fields say that it is reached: the transport fits what is given with it, and each part is legal.

import type { Endpoint, UrlEndpoint } from "../../model/index.ts";
import { entryOf, type ObjectNode, type Problems, quoted, toLabel } from "../text/index.ts";
import type { CheckedServer } from "./server-fields.ts";

const URL_TRANSPORTS: Readonly<Record<string, UrlEndpoint["transport"]>> = {
  "streamable-http": "http",
  sse: "sse",
  websocket: "websocket",
};
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const LAUNCHER = /^(npx|uvx|uv|node|python3?|docker|bunx?|deno|npm|pnpm|yarn)\s+\S/;

/** The endpoint; with problems reported it may be half right, and the server is not used. */
export function toEndpoint(
  server: CheckedServer,
  transport: string,
  node: ObjectNode,
  problems: Problems,
): Endpoint {
  if (transport === "stdio") {
    requireField("command", "a stdio server is a program to run", server, node, problems);
    refuse("url", "transport stdio runs a command", node, problems);
    ignored(["headers"], transport, node, problems);
    checkCommand(server, node, problems);
    checkEnv(server, node, problems);
    return {
      transport: "stdio",
      command: server.command ?? "",
      ...(server.args === undefined ? {} : { args: server.args }),
      ...(server.env === undefined ? {} : { env: server.env }),
      ...(server.cwd === undefined ? {} : { cwd: server.cwd }),
    };
  }
  requireField("url", `a ${transport} server has an address`, server, node, problems);
  refuse("command", `transport ${transport} reaches a url`, node, problems);
  ignored(["args", "env", "cwd"], transport, node, problems);
  checkUrl(server.url, transport, node, problems);
  checkHeaders(server, node, problems);
  return {
    transport: URL_TRANSPORTS[transport] ?? "http",
    url: server.url ?? "",
    ...(server.headers === undefined ? {} : { headers: server.headers }),
  };
}

/** The transport that is meant when none is written. */
export function inferTransport(server: CheckedServer): string | undefined {
  if (server.command !== undefined) return "stdio";
  if (server.url !== undefined) return /^wss?:/i.test(server.url) ? "websocket" : "streamable-http";
  return undefined;
}

function requireField(
  name: "command" | "url",
  why: string,
  server: CheckedServer,
  node: ObjectNode,
  problems: Problems,
): void {
  const entry = entryOf(node, name);
  if (server[name] !== undefined || (entry !== undefined && entry.value.kind !== "null")) return;
  const example = name === "command" ? "command: npx" : "url: https://example.com/mcp";
  problems.add(
    entry ?? node,
    `${name} is missing in ${toLabel(node.path)}: ${why}`,
    `Write for example ${example}.`,
  );
}

function refuse(name: "command" | "url", why: string, node: ObjectNode, problems: Problems): void {
  const entry = entryOf(node, name);
  if (entry === undefined || entry.value.kind === "null") return;
  const fitting = name === "url" ? "streamable-http" : "stdio";
  problems.add(entry, `${name} does not fit here: ${why}`, `Remove ${name}, or write transport: ${fitting}.`);
}

function ignored(names: readonly string[], transport: string, node: ObjectNode, problems: Problems): void {
  for (const name of names) {
    const entry = entryOf(node, name);
    if (entry !== undefined && entry.value.kind !== "null")
      problems.warn(entry, `${name} has no effect with transport ${transport}`, `Remove ${name}.`);
  }
}

function checkCommand(server: CheckedServer, node: ObjectNode, problems: Problems): void {
  const entry = entryOf(node, "command");
  if (entry === undefined || server.command === undefined || server.args !== undefined) return;
  if (!LAUNCHER.test(server.command)) return;
  const [program] = server.command.split(/\s/, 1);
  problems.warn(
    entry.value,
    "command holds a whole command line; no program has that name",
    `Write command: ${program}, and the other words as args.`,
  );
}

function checkEnv(server: CheckedServer, node: ObjectNode, problems: Problems): void {
  for (const name of Object.keys(server.env ?? {})) {
    const entry = entryOf(entryOf(node, "env")?.value, name);
    if (entry !== undefined && (name === "" || /[=\0]/.test(name)))
      problems.add(entry, `${quoted(name)} cannot be the name of an environment variable`);
  }
}

function checkHeaders(server: CheckedServer, node: ObjectNode, problems: Problems): void {
  for (const [name, value] of Object.entries(server.headers ?? {})) {
    const entry = entryOf(entryOf(node, "headers")?.value, name);
    if (entry === undefined) continue;
    if (!HEADER_NAME.test(name)) problems.add(entry, `${quoted(name)} cannot be the name of a header`);
    else if (value !== undefined && /[\r\n]/.test(value))
      problems.add(entry.value, `the header ${name} holds a line break`, "Write its value on one line.");
  }
}

/** Checks what can be known before `${...}` references have their values. */
function checkUrl(url: string | undefined, transport: string, node: ObjectNode, problems: Problems): void {
  const place = entryOf(node, "url")?.value;
  if (url === undefined || place === undefined || url.startsWith("${")) return;
  const protocols = transport === "websocket" ? ["ws:", "wss:"] : ["http:", "https:"];
  const schemes = protocols.map((protocol) => `${protocol}//`).join(" or ");
  const sample = url.replace(/:\$\{[^}]*\}/g, ":1").replace(/\$\{[^}]*\}/g, "x");
  if (!URL.canParse(sample))
    problems.add(place, "url is not a whole URL", `Write an address that begins with ${schemes}.`);
  else if (!protocols.includes(new URL(sample).protocol))
    problems.add(place, `url must begin with ${schemes} for transport ${transport}`, fitting(sample));
}

function fitting(url: string): string | undefined {
  if (/^wss?:/i.test(url)) return "Write transport: websocket for this address.";
  if (/^https?:/i.test(url)) return "Write transport: streamable-http for this address.";
  return undefined;
}
