// Start message of a gateway: its address, its servers, and the lines to paste into clients.

import { basename, isAbsolute, relative } from "node:path";
import { isLoopbackHost } from "../../base/net/addresses.ts";
import { shellWord } from "../../base/text/command-line.ts";
import type { OpenedGateway } from "../../gateway/index.ts";
import type { Hub } from "../../hub/index.ts";
import type { GatewaySettings } from "../../model/index.ts";
import { errorLine, stateLabel } from "../output/server-state.ts";
import type { Colors } from "../terminal/colors.ts";
import { count, displayWidth, wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";

/** Placeholders for a token that is not shown. */
const TOKEN_PLACE = "<token>";
const CALLER_TOKEN_PLACE = "<token of the caller>";

export interface Greeting {
  /** The URL without a path. */
  readonly url: string;
  readonly settings: GatewaySettings;
  readonly servers: readonly ServedServer[];
  readonly tags: readonly string[];
  /**
   * The option by which other commands find this gateway, with a space before it, or empty. Undefined for a server of
   * the command line, which other commands do not find.
   */
  readonly workspaceOption: string | undefined;
  /** The titles of the clients that `portolan connect` has connected to this workspace. */
  readonly connected?: readonly string[];
  /** The address of the console, on a terminal with a code that signs in once. */
  readonly console?: string;
  /** Undefined when no token is needed. */
  readonly token:
    | {
        readonly value: string;
        /** True when the token may be shown. */
        readonly shown: boolean;
        readonly created: boolean;
        /** True when the user requested to see it. */
        readonly wanted: boolean;
        /** The command that prints it. */
        readonly command: string;
        /** The file that contains it. */
        readonly file?: string;
      }
    | undefined;
}

export interface ServedServer {
  readonly alias: string;
  readonly state: Hub["members"][number]["state"];
  readonly tools: number;
  /** Tools that are not offered, because nobody approved their definition; absent if there are none. */
  readonly withheld?: number;
  readonly error?: { readonly code: string; readonly message: string; readonly hint: string };
}

export function servedServers({ hub }: OpenedGateway["workspace"]): ServedServer[] {
  const counts = new Map<string, number>();
  for (const { server } of hub.toolNames().values()) counts.set(server, (counts.get(server) ?? 0) + 1);
  return hub.members
    .map(({ alias, state, retriedState, pins, inventory, lastError: { error: lastError } }) => {
      const withheld = inventory.tools.filter(({ name }) => pins.isWithheld(name)).length;
      const isUp = state === "ready" || state === "idle" || lastError === undefined;
      const error = isUp
        ? undefined
        : { code: lastError.code, message: lastError.message, hint: lastError.hint };
      return {
        alias,
        state: retriedState ?? state,
        tools: counts.get(alias) ?? 0,
        withheld: withheld || undefined,
        error,
      };
    })
    .toSorted((a, b) => (a.alias < b.alias ? -1 : 1));
}

/** A URL that clients can use: the addresses 0.0.0.0 and :: are replaced. */
export function reachable(url: string, { allowedHosts = [] }: GatewaySettings): string {
  const { protocol, hostname, port } = new URL(url);
  if (hostname !== "0.0.0.0" && hostname !== "[::]") return url;
  const named = allowedHosts.find((host) => !host.startsWith("*.")) ?? "127.0.0.1";
  return `${protocol}//${/:\d+$/.test(named) ? named : `${named}:${port}`}`;
}

/** The URL of the console, without a slash at its end; undefined if no address of the gateway serves it. */
export function consoleUrl(url: string, settings: GatewaySettings): string | undefined {
  const { console = "local", allowedHosts = [] } = settings;
  if (console === "off") return undefined;
  if (console === "all") return reachable(url, settings);
  const { hostname } = new URL(url);
  if (isLoopbackHost(hostname)) return url;
  const local = allowedHosts.filter((host) => isLoopbackHost(host.replace(/:\d+$/, "")));
  // At another address than this computer's own, the gateway answers to the listed names only.
  const isEvery = hostname === "0.0.0.0" || hostname === "[::]";
  if (!isEvery || local.length < Math.min(1, allowedHosts.length)) return undefined;
  return reachable(url, { allowedHosts: local });
}

/** The message as JSON. It contains the token only on a terminal; elsewhere a program runs `tokenCommand`. */
export function greetingJson(greeting: Greeting): object {
  const { url, settings, servers, tags, token } = greeting;
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
      console: greeting.console,
      health: `${url}/healthz`,
      ready: `${url}/readyz`,
      sse: sse === true ? `${url}/sse` : undefined,
      websocket: websocket === true ? `${url.replace(/^http/, "ws")}/mcp` : undefined,
    },
    auth: token === undefined ? "none" : "token",
    token: token?.shown === true ? token.value : undefined,
    tokenCommand: token?.command,
    tokenFile: token?.file,
    servers,
  };
}

/** The message as text. Lines to copy are never wrapped. */
export function greetingText(
  greeting: Greeting,
  colors: Colors,
  columns: number | undefined,
  form: "page" | "lines" = "page",
): string {
  const { url, servers, token, workspaceOption } = greeting;
  const callers = (greeting.settings.callers ?? []).map(({ name }) => plainLine(name, 60));
  const known =
    callers.length > 0
      ? { shown: CALLER_TOKEN_PLACE }
      : token?.shown === true
        ? { shown: token.value }
        : { command: token?.command ?? "" };
  const access = { url: `${url}/mcp`, token: token === undefined ? undefined : known };
  const width = Math.max(...servers.map(({ alias }) => displayWidth(plainLine(alias, 40))), 0);
  const failed = servers.find(({ error }) => error !== undefined);
  const about = [
    `${summary(servers)} at ${colors.bold(colors.cyan(`${url}/mcp`))}`,
    ...servers.map((server) => serverLine(server, { width, colors, columns, workspaceOption })),
    ...(greeting.console === undefined ? [] : [consoleLine(greeting.console, colors)]),
    ...otherAddresses(greeting).map((line) => colors.dim(wrap(`  ${line}`, columns))),
    ...publicNotes(greeting.settings).map((line) => colors.yellow(wrap(`  ${line}`, columns))),
    ...(failed === undefined || workspaceOption === undefined
      ? []
      : [colors.dim(`  details: portolan why ${shellWord(plainLine(failed.alias, 100))}${workspaceOption}`)]),
  ];
  // A log has the facts, one line for each. The lines to copy are for a person.
  if (form === "lines") return [...about.map((line) => line.trim()), tokenText(token, colors, "")].join("\n");
  const { connected = [] } = greeting;
  // A person with connected clients has used `portolan connect`, and needs no lines to copy.
  const lines = connected.length === 0 ? clientLines(access) : [];
  const toCopy = lines.map(
    ({ client, file, text }) =>
      `${colors.bold(client)}${file === undefined ? "" : colors.dim(` in ${file}`)}\n  ${text}`,
  );
  const advice = lines.length === 0 || callers.length > 0 ? "" : `; replace ${TOKEN_PLACE} below with it`;
  return [
    about.join("\n"),
    wrap(tokenText(token, colors, advice), columns),
    ...(callers.length === 0 || token === undefined
      ? []
      : [
          wrap(
            `${colors.bold("Callers:")} ${callers.join(", ")}. Give each person the token of their caller; the gateway's own token has all rights.`,
            columns,
          ),
        ]),
    ...toCopy,
    ...connectLine(greeting, colors).map((line) => wrap(line, columns)),
  ].join("\n\n");
}

function consoleLine(address: string, colors: Colors): string {
  if (!address.includes("#")) return `  ${colors.bold("console")} ${colors.cyan(address)}`;
  // Alone in its line, the link fits a terminal of 80 columns.
  return `  ${colors.bold("console")} ${colors.dim("(this link signs you in once, within five minutes)")}\n  ${colors.cyan(address)}`;
}

/** The command that lists the clients, with the same program as the one that prints the token. */
function connectLine({ token, workspaceOption, connected = [] }: Greeting, colors: Colors): string[] {
  const clients = connected.length === 0 ? "" : `Connected clients: ${connected.join(", ")}. `;
  if (token === undefined || workspaceOption === undefined) return clients === "" ? [] : [clients.trim()];
  const command = `${token.command.replace(/ token(?: -w .*)?$/, "")} connect${workspaceOption}`;
  if (clients !== "")
    return [`${clients}${colors.bold(command)} lists the other clients, with the command for each.`];
  return [
    `Portolan can also change the config files of your clients: ${colors.bold(command)} lists the clients, with the command for each.`,
  ];
}

/** Warnings for a gateway that other computers can reach. */
export function publicNotes({ host = "127.0.0.1", tls, auth }: GatewaySettings): string[] {
  if (isLoopbackHost(host)) return [];
  return [
    `The gateway listens at ${host === "0.0.0.0" || host === "::" ? "all addresses of this computer" : host}, where other computers may reach it.`,
    ...(tls === undefined && auth !== "none"
      ? ["Without TLS, others on the network can read the tokens. To use TLS: --tls-cert and --tls-key."]
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
  { alias, state, tools, withheld = 0, error }: ServedServer,
  {
    width,
    colors,
    columns,
    workspaceOption = "",
  }: { width: number; colors: Colors; columns: number | undefined; workspaceOption: string | undefined },
): string {
  const name = plainLine(alias, 40);
  const space = " ".repeat(width - displayWidth(name));
  const mark = `${stateLabel(state, colors)}${" ".repeat(Math.max(0, 8 - state.length))}`;
  const line = `  ${colors.bold(name)}${space}  ${mark}  `;
  if (state === "disabled") return line.trimEnd();
  const review = `portolan pins ${shellWord(plainLine(alias, 100))}${workspaceOption}`;
  const held = withheld === 0 ? "" : `, ${colors.red(`${withheld} withheld`)} (${review})`;
  if (error === undefined)
    return `${line}${state === "starting" && tools === 0 ? "not ready yet" : `${count(tools, "tool")}${held}`}`;
  const before = displayWidth(line);
  const room = columns === undefined ? undefined : Math.max(20, columns - before);
  const why = wrap(errorLine(error, colors.dim), room);
  return `${line}${why.replaceAll("\n", `\n${" ".repeat(before)}`)}`;
}

function otherAddresses({ servers, tags, settings }: Greeting): string[] {
  const { sse, websocket } = settings.transports ?? {};
  const parts = [
    ...(servers.length === 0 ? [] : ["one server alone: /servers/<name>/mcp"]),
    ...(tags.length === 0 ? [] : [`servers with a tag: /tags/${tags.length === 1 ? tags[0] : "<tag>"}/mcp`]),
    ...(sse === true ? ["HTTP+SSE: /sse"] : []),
    ...(websocket === true ? ["WebSocket: /mcp"] : []),
  ];
  return parts.length === 0 ? [] : [parts.join(" · ")];
}

function tokenText(token: Greeting["token"], colors: Colors, advice: string): string {
  if (token === undefined)
    return colors.yellow("No token is needed: everyone who can reach the gateway may use it.");
  const command = colors.bold(token.command);
  if (token.shown)
    return `${colors.bold("Token")} ${colors.dim(`(${token.created ? "new; " : ""}${token.command} prints it again)`)}\n  ${token.value}`;
  const where = token.file === undefined ? "" : ` (it is in ${plainLine(token.file, 300)})`;
  const place = colors.dim(`${where}${advice}`);
  if (token.wanted) return `The token is shown only on a terminal. ${command} prints it${place}.`;
  if (token.created) return `The gateway has a new token. ${command} prints it${place}.`;
  return `The token is the same as before. ${command} prints it${place}.`;
}

interface ClientLine {
  readonly client: string;
  /** The file of the snippet; without a file, the text is a command. */
  readonly file?: string;
  readonly text: string;
}

interface Access {
  readonly url: string;
  /** Undefined when no token is needed. */
  readonly token: { readonly shown: string } | { readonly command: string } | undefined;
}

export function clientLines({ url, token }: Access): ClientLine[] {
  const shown = token !== undefined && "shown" in token ? token.shown : undefined;
  const inShell = shown ?? (token === undefined ? "" : `$(${(token as { command: string }).command})`);
  const header = token === undefined ? "" : ` --header "Authorization: Bearer ${inShell}"`;
  const entry = {
    url,
    headers: token && { Authorization: `Bearer ${shown ?? TOKEN_PLACE}` },
  };
  return [
    { client: "Claude Code", text: `claude mcp add --transport http portolan ${url}${header}` },
    {
      client: "Cursor",
      file: "~/.cursor/mcp.json",
      text: JSON.stringify({ mcpServers: { portolan: entry } }),
    },
    {
      client: "VS Code",
      file: ".vscode/mcp.json",
      text: JSON.stringify({ servers: { portolan: { type: "http", ...entry } } }),
    },
  ];
}

/** The command that prints the token, with the same program as this command, so that it works when pasted. */
export function tokenCommand(script: string | undefined, cwd: string, folder: string): string {
  const program =
    script === undefined || basename(script) === "portolan" ? "portolan" : `node ${near(script, cwd)}`;
  return `${program} token${folder === cwd ? "" : ` -w ${near(folder, cwd)}`}`;
}

function near(path: string, cwd: string): string {
  const short = relative(cwd, path);
  const shown = short === "" || short.startsWith("..") || isAbsolute(short) ? path : short;
  return /^[\w./:@\\-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", `'\\''`)}'`;
}
