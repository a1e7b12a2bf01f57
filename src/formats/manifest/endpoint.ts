// How a server's fields say that it is reached: the transport fits what is given with it, and each part is legal.

import type { Endpoint, UrlEndpoint } from "../../model/index.ts";
import { entryOf, type ObjectNode, type Problems, quoted, toLabel } from "../text/index.ts";
import { ignored } from "./ignored.ts";
import { toPackagedEndpoint } from "./packaged.ts";
import type { CheckedServer } from "./server-fields.ts";

const URL_TRANSPORTS: Readonly<Record<string, UrlEndpoint["transport"]>> = {
  "streamable-http": "http",
  sse: "sse",
  websocket: "websocket",
};
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TARGETS: readonly string[] = ["command", "npm", "docker", "url"];
const PROGRAM_FIELDS = ["args", "env", "cwd"];
const LAUNCH_KEYS = ["install", "version_check", "requires"];
const LAUNCHER = /^(npx|uvx|uv|node|python3?|docker|bunx?|deno|npm|pnpm|yarn)\s+\S/;

/** The endpoint; with problems reported it may be half right, and the server is not used. */
export function toEndpoint(
  server: CheckedServer,
  transport: string,
  node: ObjectNode,
  problems: Problems,
): Endpoint {
  if (server.npm !== undefined || server.docker !== undefined) {
    checkOnlyOne(node, problems);
    checkEnv(server, node, problems);
    checkHeaders(server, node, problems);
    return toPackagedEndpoint(server, transport, node, problems);
  }
  ignored(["bin", "port", "path"], "without npm or docker", node, problems);
  if (transport === "stdio") {
    requireField("command", "a stdio server is a program to run", server, node, problems);
    refuse("url", "transport stdio runs a command", node, problems);
    ignored(["headers"], "with transport stdio", node, problems);
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
  ignored([...PROGRAM_FIELDS, ...LAUNCH_KEYS], `with transport ${transport}`, node, problems);
  checkElsewhere(server.sandbox, transport, node, problems);
  checkUrl(server.url, transport, node, problems);
  checkHeaders(server, node, problems);
  return {
    transport: URL_TRANSPORTS[transport] ?? "http",
    url: server.url ?? "",
    ...(server.headers === undefined ? {} : { headers: server.headers }),
  };
}

/** Nothing of a program that runs elsewhere can be held here: who declares it must not believe that it is. */
function checkElsewhere(
  sandbox: CheckedServer["sandbox"],
  transport: string,
  node: ObjectNode,
  problems: Problems,
): void {
  const entry = entryOf(node, "sandbox");
  if (sandbox === undefined || entry === undefined) return;
  const mode = typeof sandbox === "object" ? sandbox.mode : sandbox;
  if (mode === "off" || mode === false || mode === "warn") {
    ignored(["sandbox"], `with transport ${transport}`, node, problems);
    return;
  }
  const clauses = typeof sandbox === "object" ? Object.keys(sandbox).filter((key) => key !== "mode") : [];
  const named = clauses.length === 0 ? ["sandbox"] : clauses.map((key) => `sandbox.${key}`);
  problems.add(
    entry,
    `${named.join(", ")} cannot be held: a server with transport ${transport} runs elsewhere`,
    "Remove sandbox. To hold a server, have it run here: command, npm or docker in place of url.",
  );
}

/** The transport that is meant when none is written. */
export function inferTransport(server: CheckedServer): string | undefined {
  if (server.docker !== undefined && server.port !== undefined) return "streamable-http";
  if (server.command !== undefined || server.npm !== undefined || server.docker !== undefined) return "stdio";
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

function checkOnlyOne(node: ObjectNode, problems: Problems): void {
  const [first, ...more] = node.entries.filter(
    ({ key, value }) => TARGETS.includes(key) && value.kind !== "null",
  );
  for (const entry of more)
    problems.add(
      entry,
      `${entry.key} does not fit beside ${first?.key}: a server has exactly one of ${TARGETS.join(", ")}`,
      "Keep one of them.",
    );
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
    problems.add(place, "url is not a URL", `Write an address that begins with ${schemes}.`);
  else if (!protocols.includes(new URL(sample).protocol))
    problems.add(place, `url must begin with ${schemes} for transport ${transport}`, fitting(sample));
}

function fitting(url: string): string | undefined {
  if (/^wss?:/i.test(url)) return "Write transport: websocket for this address.";
  if (/^https?:/i.test(url)) return "Write transport: streamable-http for this address.";
  return undefined;
}
