// Endpoint of a server from its fields: checks that they fit the transport and that each is valid.

import { HTTP_SCHEMES, isHttpUrl, WEBSOCKET_SCHEMES } from "../../base/net/urls.ts";
import type { Endpoint, StdioEndpoint, UrlEndpoint } from "../../model/index.ts";
import { entryOf, type ObjectNode, type Diagnostics, quoted, toLabel } from "../document/index.ts";
import { checkAuth, fixedHeaders, toOAuthSettings } from "./auth-schema.ts";
import { definedOnly } from "./defined.ts";
import { type PackageLock, toPackageEndpoint, toPackagedEndpoint, warnIgnored } from "./packaged.ts";
import type { FileTransport, ServerValue } from "./server-schema.ts";

const URL_TRANSPORTS: Readonly<Record<Exclude<FileTransport, "stdio">, UrlEndpoint["transport"]>> = {
  "streamable-http": "http",
  sse: "sse",
  websocket: "websocket",
};
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TARGETS: readonly string[] = ["command", "npm", "docker", "package", "url"];
const PROGRAM_FIELDS = ["args", "env", "cwd"];
const LAUNCH_KEYS = ["install", "version_check", "requires"];
const LAUNCHER = /^(npx|uvx|uv|node|python3?|docker|bunx?|deno|npm|pnpm|yarn)\s+\S/;

/** Creates the endpoint. After an error it may be incomplete, and the server is not used. */
export function toEndpoint(
  server: ServerValue,
  transport: FileTransport,
  node: ObjectNode,
  diagnostics: Diagnostics,
  lock: PackageLock,
): Endpoint {
  if (server.package !== undefined) {
    checkOnlyOne(node, diagnostics);
    checkEnv(server, node, diagnostics);
    return toPackageEndpoint(server, transport, node, diagnostics, lock);
  }
  if (server.npm !== undefined || server.docker !== undefined) {
    checkOnlyOne(node, diagnostics);
    checkEnv(server, node, diagnostics);
    checkHeaders(server, node, diagnostics);
    return toPackagedEndpoint(server, transport, node, diagnostics);
  }
  warnIgnored(["bin"], "without npm", node, diagnostics);
  warnIgnored(["port", "path"], "without docker", node, diagnostics);
  if (transport === "stdio") {
    requireField("command", "a stdio server is a program to run", server, node, diagnostics);
    refuse("url", "transport stdio needs a command", node, diagnostics);
    warnIgnored(["headers", "auth"], "with transport stdio", node, diagnostics);
    checkCommand(server, node, diagnostics);
    checkEnv(server, node, diagnostics);
    const { command = "", args, env, cwd } = server;
    return definedOnly<StdioEndpoint>({ transport: "stdio", command, args, env, cwd });
  }
  const word = transportWord(transport, node);
  requireField("url", `a server with transport ${word} has an address`, server, node, diagnostics);
  refuse("command", `transport ${word} needs a url`, node, diagnostics);
  warnIgnored([...PROGRAM_FIELDS, ...LAUNCH_KEYS], `with transport ${word}`, node, diagnostics);
  checkElsewhere(server.sandbox, word, node, diagnostics);
  checkUrl(server.url, transport, node, diagnostics);
  checkHeaders(server, node, diagnostics);
  checkAuth(server.auth, node, diagnostics);
  const { url = "", auth } = server;
  const fixed = fixedHeaders(auth);
  const headers = Object.keys(fixed).length === 0 ? server.headers : { ...server.headers, ...fixed };
  return definedOnly<UrlEndpoint>({
    ...{ transport: URL_TRANSPORTS[transport], url, headers },
    auth: toOAuthSettings(auth),
  });
}

/** The transport as the config names it: `http` is another name for streamable-http. */
function transportWord(transport: FileTransport, node: ObjectNode): string {
  const written = entryOf(node, "transport")?.value;
  return written?.kind === "string" ? String(written.value) : transport;
}

/** A sandbox cannot be enforced for a server that runs elsewhere, so its config must not claim one. */
function checkElsewhere(
  sandbox: ServerValue["sandbox"],
  transport: string,
  node: ObjectNode,
  diagnostics: Diagnostics,
): void {
  const entry = entryOf(node, "sandbox");
  if (sandbox === undefined || entry === undefined) return;
  if (sandbox.mode === "off" || sandbox.mode === "warn") {
    warnIgnored(["sandbox"], `with transport ${transport}`, node, diagnostics);
    return;
  }
  const rules = entry.value.kind === "object" ? entry.value.entries.map(({ key }) => key) : [];
  const named = rules.filter((key) => key !== "mode").map((key) => `sandbox.${key}`);
  diagnostics.add(
    entry,
    `${named.join(", ") || "sandbox"} cannot be enforced: a server with transport ${transport} runs elsewhere`,
    "Remove sandbox. To run the server in a sandbox on this machine, write command, npm or docker in place of url.",
  );
}

/** The transport of a server that does not name one. */
export function inferTransport(server: ServerValue): FileTransport | undefined {
  if (server.docker !== undefined && server.port !== undefined) return "streamable-http";
  const programs = [server.command, server.npm, server.docker, server.package];
  if (programs.some((program) => program !== undefined)) return "stdio";
  if (server.url !== undefined) return /^wss?:/i.test(server.url) ? "websocket" : "streamable-http";
  return undefined;
}

function requireField(
  name: "command" | "url",
  why: string,
  server: ServerValue,
  node: ObjectNode,
  diagnostics: Diagnostics,
): void {
  const entry = entryOf(node, name);
  if (server[name] !== undefined || (entry !== undefined && entry.value.kind !== "null")) return;
  const example = name === "command" ? "command: npx" : "url: https://example.com/mcp";
  diagnostics.add(
    entry ?? node,
    `${name} is missing in ${toLabel(node.path)}: ${why}`,
    `Write for example ${example}.`,
  );
}

function refuse(name: "command" | "url", why: string, node: ObjectNode, diagnostics: Diagnostics): void {
  const entry = entryOf(node, name);
  if (entry === undefined || entry.value.kind === "null") return;
  const fitting = name === "url" ? "streamable-http" : "stdio";
  diagnostics.add(
    entry,
    `${name} is not allowed here: ${why}`,
    `Remove ${name}, or write transport: ${fitting}.`,
  );
}

function checkOnlyOne(node: ObjectNode, diagnostics: Diagnostics): void {
  const [first, ...more] = node.entries.filter(
    ({ key, value }) => TARGETS.includes(key) && value.kind !== "null",
  );
  for (const entry of more)
    diagnostics.add(
      entry,
      `${entry.key} cannot be combined with ${first?.key}: a server has exactly one of ${TARGETS.join(", ")}`,
      "Keep one of them.",
    );
}

function checkCommand(server: ServerValue, node: ObjectNode, diagnostics: Diagnostics): void {
  const entry = entryOf(node, "command");
  if (entry === undefined || server.command === undefined || server.args !== undefined) return;
  if (!LAUNCHER.test(server.command)) return;
  const [program] = server.command.split(/\s/, 1);
  diagnostics.warn(
    entry.value,
    "command contains a whole command line; no program has that name",
    `Write command: ${program}, and the other words as args.`,
  );
}

function checkEnv(server: ServerValue, node: ObjectNode, diagnostics: Diagnostics): void {
  for (const name of Object.keys(server.env ?? {})) {
    const entry = entryOf(entryOf(node, "env")?.value, name);
    if (entry !== undefined && (name === "" || /[=\0]/.test(name)))
      diagnostics.add(entry, `${quoted(name)} cannot be the name of an environment variable`);
  }
}

function checkHeaders(server: ServerValue, node: ObjectNode, diagnostics: Diagnostics): void {
  for (const [name, value] of Object.entries(server.headers ?? {})) {
    const entry = entryOf(entryOf(node, "headers")?.value, name);
    if (entry === undefined) continue;
    if (!HEADER_NAME.test(name)) diagnostics.add(entry, `${quoted(name)} cannot be the name of a header`);
    else if (value !== undefined && /[\r\n]/.test(value))
      diagnostics.add(
        entry.value,
        `the header ${name} contains a line break`,
        "Write its value on one line.",
      );
  }
}

/** Checks the parts of a URL that are known before `${...}` references have values. */
function checkUrl(
  url: string | undefined,
  transport: FileTransport,
  node: ObjectNode,
  diagnostics: Diagnostics,
): void {
  const place = entryOf(node, "url")?.value;
  if (url === undefined || place === undefined || url.startsWith("${")) return;
  const protocols = transport === "websocket" ? WEBSOCKET_SCHEMES : HTTP_SCHEMES;
  const schemes = protocols.map((protocol) => `${protocol}//`).join(" or ");
  const sample = url.replace(/:\$\{[^}]*\}/g, ":1").replace(/\$\{[^}]*\}/g, "x");
  if (!URL.canParse(sample))
    diagnostics.add(place, "url is not a URL", `Write an address that begins with ${schemes}.`);
  else if (!protocols.includes(new URL(sample).protocol))
    diagnostics.add(
      place,
      `url must begin with ${schemes} for transport ${transportWord(transport, node)}`,
      fitting(sample),
    );
}

function fitting(url: string): string | undefined {
  if (/^wss?:/i.test(url)) return "Write transport: websocket for this address.";
  if (isHttpUrl(url)) return "Write transport: streamable-http for this address.";
  return undefined;
}
