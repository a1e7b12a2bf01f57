// What there is to know once a gateway runs: where, what it serves, and what to tell clients.

import { isLoopbackHost } from "../../base/net/addresses.ts";
import type { OpenedGateway } from "../../gateway/index.ts";
import type { Hub } from "../../hub/index.ts";
import type { GatewaySettings } from "../../model/index.ts";
import { stateLabel } from "../output/server-state.ts";
import type { Colors } from "../terminal/colors.ts";
import { count } from "../terminal/format.ts";
import { displayWidth, wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { clientLines, TOKEN_PLACE } from "./client-lines.ts";

export interface Greeting {
  /** Without a path. */
  readonly url: string;
  readonly settings: GatewaySettings;
  readonly servers: readonly ServedServer[];
  readonly tags: readonly string[];
  /** Undefined when none is needed. */
  readonly token:
    | {
        readonly value: string;
        /** May be seen now. */
        readonly shown: boolean;
        readonly created: boolean;
        /** The user wants to see it. */
        readonly wanted: boolean;
        /** Prints it. */
        readonly command: string;
      }
    | undefined;
}

export interface ServedServer {
  readonly alias: string;
  readonly state: Hub["members"][number]["state"];
  readonly tools: number;
  readonly error?: { readonly code: string; readonly message: string; readonly hint: string } | undefined;
}

export function servedServers({ hub }: OpenedGateway["workspace"]): ServedServer[] {
  const counts = new Map<string, number>();
  for (const { server } of hub.toolNames().values()) counts.set(server, (counts.get(server) ?? 0) + 1);
  return hub.members
    .map(({ alias, state, lastError: { error: lastError } }) => {
      const isUp = state === "ready" || state === "idle" || lastError === undefined;
      const error = isUp
        ? undefined
        : { code: lastError.code, message: lastError.message, hint: lastError.hint };
      return { alias, state, tools: counts.get(alias) ?? 0, error };
    })
    .toSorted((a, b) => (a.alias < b.alias ? -1 : 1));
}

/** An address that can be gone to: one that means "everywhere" cannot. */
export function reachable(url: string, { allowedHosts = [] }: GatewaySettings): string {
  const { protocol, hostname, port } = new URL(url);
  if (hostname !== "0.0.0.0" && hostname !== "[::]") return url;
  const named = allowedHosts.find((host) => !host.startsWith("*.")) ?? "127.0.0.1";
  return `${protocol}//${/:\d+$/.test(named) ? named : `${named}:${port}`}`;
}

/** For programs. The token is only there on a terminal; elsewhere a program runs `tokenCommand`. */
export function greetingJson({ url, settings, servers, tags, token }: Greeting): object {
  const { sse, websocket } = settings.transports ?? {};
  const at = (group: string, names: readonly string[]): Record<string, string> =>
    Object.fromEntries(names.map((name) => [name, `${url}/${group}/${encodeURIComponent(name)}/mcp`]));
  return {
    url: `${url}/mcp`,
    endpoints: {
      servers: at(
        "servers",
        servers.map(({ alias }) => alias),
      ),
      tags: at("tags", tags),
      health: `${url}/healthz`,
      ready: `${url}/readyz`,
      ...(sse === true ? { sse: `${url}/sse` } : {}),
      ...(websocket === true ? { websocket: `${url.replace(/^http/, "ws")}/mcp` } : {}),
    },
    auth: token === undefined ? "none" : "token",
    ...(token?.shown === true ? { token: token.value } : {}),
    ...(token === undefined ? {} : { tokenCommand: token.command }),
    servers,
  };
}

/** For people, in so many columns. What is to be copied is not broken into lines, whatever its length. */
export function greetingText(greeting: Greeting, colors: Colors, columns: number | undefined): string {
  const { url, servers, token } = greeting;
  const known = token?.shown === true ? { shown: token.value } : { command: token?.command ?? "" };
  const access = { url: `${url}/mcp`, token: token === undefined ? undefined : known };
  const width = Math.max(...servers.map(({ alias }) => displayWidth(plainLine(alias, 40))), 0);
  const failed = servers.find(({ error }) => error !== undefined);
  const about = [
    `${summary(servers)} at ${colors.bold(colors.cyan(`${url}/mcp`))}`,
    ...servers.map((server) => serverLine(server, { width, colors, columns })),
    ...otherAddresses(greeting).map((line) => colors.dim(wrap(`  ${line}`, columns))),
    ...publicNotes(greeting).map((line) => colors.yellow(wrap(`  ${line}`, columns))),
    ...(failed === undefined ? [] : [colors.dim(`  more about a server: portolan why ${failed.alias}`)]),
  ];
  const toCopy = clientLines(access).map(
    ({ client, file, text }) =>
      `${colors.bold(client)}${file === undefined ? "" : colors.dim(` in ${file}`)}\n  ${text}`,
  );
  return [about.join("\n"), wrap(tokenText(token, colors), columns), ...toCopy].join("\n\n");
}

/** Whoever opens it to others should know that they did, and what that means. */
function publicNotes({ settings, token }: Greeting): string[] {
  const { host = "127.0.0.1", tls } = settings;
  if (isLoopbackHost(host)) return [];
  return [
    `It listens at ${host === "0.0.0.0" || host === "::" ? "all addresses of this computer" : host}, where others may reach it.`,
    ...(tls === undefined && token !== undefined
      ? ["Without TLS, tokens can be read on the way: see --tls-cert and --tls-key."]
      : []),
  ];
}

function summary(servers: readonly ServedServer[]): string {
  const up = servers.filter(({ error, state }) => error === undefined && state !== "disabled").length;
  const enabled = servers.filter(({ state }) => state !== "disabled").length;
  const tools = servers.reduce((sum, server) => sum + server.tools, 0);
  const of = up === enabled ? `${up}` : `${up} of ${enabled}`;
  return `Serving ${of} ${enabled === 1 ? "server" : "servers"}, ${count(tools, "tool")},`;
}

function serverLine(
  { alias, state, tools, error }: ServedServer,
  { width, colors, columns }: { width: number; colors: Colors; columns: number | undefined },
): string {
  const name = plainLine(alias, 40);
  const space = " ".repeat(width - displayWidth(name));
  const mark = `${stateLabel(state, colors)}${" ".repeat(Math.max(0, 8 - state.length))}`;
  const line = `  ${colors.bold(name)}${space}  ${mark}  `;
  if (state === "disabled") return line.trimEnd();
  if (error === undefined)
    return `${line}${state === "starting" && tools === 0 ? "it comes later" : count(tools, "tool")}`;
  const before = displayWidth(line);
  const room = columns === undefined ? undefined : Math.max(20, columns - before);
  const why = wrap(`${plainLine(error.message, 300)} ${colors.dim(`[${error.code}]`)}`, room);
  return `${line}${why.replaceAll("\n", `\n${" ".repeat(before)}`)}`;
}

function otherAddresses({ servers, tags, settings }: Greeting): string[] {
  const { sse, websocket } = settings.transports ?? {};
  const parts = [
    ...(servers.length === 0 ? [] : ["one server alone: /servers/<name>/mcp"]),
    ...(tags.length === 0 ? [] : [`those with a tag: /tags/${tags.length === 1 ? tags[0] : "<tag>"}/mcp`]),
    ...(sse === true ? ["HTTP+SSE: /sse"] : []),
    ...(websocket === true ? ["WebSocket: /mcp"] : []),
  ];
  return parts.length === 0 ? [] : [parts.join(" · ")];
}

function tokenText(token: Greeting["token"], colors: Colors): string {
  if (token === undefined) return colors.yellow("No token is needed: whoever can reach it may use it.");
  const command = colors.bold(token.command);
  if (token.shown)
    return `${colors.bold("Token")} ${colors.dim(`(${token.created ? "new; " : ""}${token.command} prints it again)`)}\n  ${token.value}`;
  const place = colors.dim(`; below, ${TOKEN_PLACE} stands for it`);
  if (token.wanted) return `The token is printed to terminals only. ${command} prints it${place}.`;
  if (token.created) return `The gateway has a new token. ${command} prints it${place}.`;
  return `The token is the same as before. ${command} prints it${place}.`;
}
