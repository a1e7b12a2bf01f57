// Detects servers that are this gateway itself: clients list it in their config files, and serving it would loop forever.

import { basename } from "node:path";
import { bracketed, isLoopbackHost } from "../../base/net/addresses.ts";
import { defaultPort, portOf } from "../../base/net/urls.ts";
import { type ServerConfig, toCommandLine } from "../../model/index.ts";

export interface OwnPlace {
  readonly host: string;
  /** 0 until the port is known. */
  port: number;
  readonly allowedHosts?: readonly string[];
  /** The path of the running script. */
  readonly script?: string;
}

/** The reason not to serve a server; undefined for all others. */
export function ownGateway({ endpoint }: ServerConfig, own: OwnPlace): string | undefined {
  if (endpoint.transport === "stdio") {
    // Other clients get a package through `portolan serve`; Portolan itself runs its program.
    if (endpoint.kind === "package") return undefined;
    const { command, args } = toCommandLine(endpoint);
    return runsServe([command, ...args], own.script) ? "its command runs portolan serve" : undefined;
  }
  if (endpoint.transport === "invoke" || endpoint.transport === "contracts") return undefined;
  return isOwnUrl(endpoint.url, own) ? "its URL is the address of this gateway" : undefined;
}

/** `portolan serve`, `npx -y portolan@1 serve`, `node …/dist/cli/main.js serve`. */
export function runsServe(words: readonly string[], script: string | undefined): boolean {
  return serveWords(words, script) !== undefined;
}

/** The workspace that a command line serves; undefined if it does not run `portolan serve`, or names none. */
export function servedWorkspace(words: readonly string[], script: string | undefined): string | undefined {
  const rest = serveWords(words, script) ?? [];
  const flag = rest.findIndex((word) => word === "-w" || word === "--workspace");
  if (flag >= 0) return rest[flag + 1];
  return rest.find((word, index) => !word.startsWith("-") && rest[index - 1] !== "--only");
}

/** The words after `serve`. */
function serveWords(words: readonly string[], script: string | undefined): readonly string[] | undefined {
  const at = words.findIndex(
    (word) => word === script || /^portolan(?:@[^/]*)?(?:\.(?:cmd|exe|js|ps1))?$/i.test(basename(word)),
  );
  const main = words.findIndex((word) => /[\\/]portolan[\\/]dist[\\/]cli[\\/]main\.js$/.test(word));
  const from = at >= 0 ? at : main;
  if (from < 0) return undefined;
  const rest = words.slice(from + 1);
  const command = rest.findIndex((word) => !word.startsWith("-"));
  return rest[command] === "serve" ? rest.slice(command + 1) : undefined;
}

function isOwnUrl(url: string, { host, port, allowedHosts = [] }: OwnPlace): boolean {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return false;
  }
  const usual = defaultPort(parsed.protocol);
  const theirs = parsed.hostname.toLowerCase();
  const theirPort = portOf(parsed);
  // A gateway with a public name may be behind a proxy at the usual port.
  const names = [theirs, `${theirs}:${theirPort}`];
  if (allowedHosts.some((name) => names.includes(name.toLowerCase())) && [usual, port].includes(theirPort))
    return true;
  if (port === 0 || theirPort !== port) return false;
  const everywhere = host === "0.0.0.0" || host === "::";
  return theirs === bracketed(host.toLowerCase()) || ((everywhere || isLocal(host)) && isLocal(theirs));
}

function isLocal(host: string): boolean {
  return isLoopbackHost(host) || host === "0.0.0.0";
}
