// The gateway as a server of a client: the command line that starts it on this computer, or its address with a token by reference.

import { realpathSync } from "node:fs";
import type { ClientId, WritableServer } from "../../formats/clients/index.ts";
import {
  escapeReferences,
  formatReference,
  type GatewaySettings,
  GATEWAY_DEFAULTS,
} from "../../model/index.ts";
import { reachable } from "../serve/greeting.ts";

/** The name of the entry in the client's file. */
export const ENTRY_NAME = "portolan";

/** The variable that holds the gateway's token, for clients that read it from their environment. */
export const TOKEN_VARIABLE = "PORTOLAN_TOKEN";

export interface ThisProgram {
  /** The absolute path of node. */
  readonly node: string;
  /** The path of the running script. */
  readonly script: string;
  readonly version: string;
  readonly platform: NodeJS.Platform;
}

/**
 * The words that start this program again, from any folder and with any PATH: a client of a desktop often has another PATH than
 * a terminal. A copy in the cache of npx may be removed at any time, so npx finds it again.
 */
export function programWords({ node, script, version, platform }: ThisProgram): readonly string[] {
  if (!isNpxCopy(script)) return [node, script];
  const npx = ["npx", "-y", `portolan@${version}`];
  return platform === "win32" ? ["cmd", "/c", ...npx] : npx;
}

function isNpxCopy(script: string): boolean {
  const real = realOf(script);
  return [script, real].some((path) => /[\\/]_npx[\\/]/.test(path));
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** A path that stays when the program is updated: a link such as `/usr/local/bin/portolan` is not followed. */
export function thisProgram(version: string, platform: NodeJS.Platform): ThisProgram {
  return { node: process.execPath, script: process.argv[1] ?? "portolan", version, platform };
}

/** The first list of tools waits for slow servers; these clients otherwise give up after seconds. */
const IMPATIENT: ReadonlySet<ClientId> = new Set(["codex", "opencode"]);
const START_TIMEOUT_MS = 60_000;

export interface GatewayPlace {
  readonly workspace: string;
  readonly program: ThisProgram;
  readonly settings: GatewaySettings;
  /** By its address, for a gateway that runs anyway. */
  readonly http: boolean;
}

/** Clients whose config file has no servers with a URL. */
const STDIO_ONLY: ReadonlySet<ClientId> = new Set(["claude-desktop"]);

export function usesHttp(client: ClientId, { http }: Pick<GatewayPlace, "http">): boolean {
  return http && !STDIO_ONLY.has(client);
}

export function gatewayServer(client: ClientId, place: GatewayPlace): WritableServer {
  const common = {
    alias: ENTRY_NAME,
    name: ENTRY_NAME,
    enabled: true,
    origin: { file: "", line: 1, column: 1, format: client },
    limits: IMPATIENT.has(client) ? { startTimeoutMs: START_TIMEOUT_MS } : undefined,
  };
  if (usesHttp(client, place)) return { ...common, endpoint: httpEndpoint(client, place.settings) };
  const [command = "portolan", ...args] = [
    ...programWords(place.program),
    ...["serve", "--stdio", "-w", place.workspace],
  ].map(escapeReferences);
  return { ...common, endpoint: { transport: "stdio", command, args } };
}

/** VS Code asks for the token and keeps it; other clients read it from their environment. */
function httpEndpoint(client: ClientId, settings: GatewaySettings): WritableServer["endpoint"] {
  const reference =
    client === "vscode"
      ? formatReference({ kind: "secret", name: "portolan-token" })
      : formatReference({ kind: "env", name: TOKEN_VARIABLE });
  const headers = settings.auth === "none" ? undefined : { Authorization: `Bearer ${reference}` };
  return { transport: "http", url: `${gatewayUrl(settings)}/mcp`, headers };
}

export function gatewayUrl(settings: GatewaySettings): string {
  const { host = GATEWAY_DEFAULTS.host, port = GATEWAY_DEFAULTS.port, tls } = settings;
  const name = host.includes(":") ? `[${host}]` : host;
  return reachable(`${tls === undefined ? "http" : "https"}://${name}:${port}`, settings);
}
