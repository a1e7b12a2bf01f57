// Target resolution in a config file that is the first word of a command.

import { statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { didYouMean, PortolanError } from "../../errors/index.ts";
import type { ServerConfig } from "../../model/index.ts";
import type { Cli, Words } from "../context.ts";
import { findServer, loadSource, namesInFile, requireServer, type Source } from "../workspace/source.ts";
import type { ResolvedTarget } from "./resolve.ts";
import { hasScheme } from "./target.ts";

const DECLARATION = /\.(?:ya?ml|jsonc?|toml)$/i;

/** The servers of the config file that the first word names, and the other words; undefined when it names none. */
export async function takeFile(
  { words, server }: Words,
  cli: Cli,
): Promise<{ source: Source; rest: readonly string[] } | undefined> {
  const [first, ...rest] = words;
  if (first === undefined || server !== undefined || !isConfigFile(first, cli)) return undefined;
  if (cli.options.workspace !== undefined)
    throw new PortolanError("USAGE", "A config file cannot be used together with -w.", {
      hint: "Leave out one of them.",
    });
  const source = await loadSource({ ...cli, options: { ...cli.options, workspace: first } });
  if (source.config.servers.length > 0) return { source, rest };
  throw new PortolanError("SERVER_UNKNOWN", `${first} has no servers.`, {
    hint: /mcpserver\.ya?ml$/i.test(first)
      ? "This file only defines how an mcpfile is served. Name the mcpfile in the same folder."
      : "Check the file: portolan validate " + first,
  });
}

function isConfigFile(word: string, { io }: Cli): boolean {
  if (!isFileName(word)) return false;
  if (statSync(resolve(io.cwd, word), { throwIfNoEntry: false })?.isFile() === true) return true;
  // Without a path, the word may be the name of a server.
  if (/\s/.test(word) || !/^[.~]|[/\\]/.test(word)) return false;
  throw noSuchFile(word);
}

/** True for a word with the file extension of a config file. */
export function isFileName(word: string): boolean {
  return DECLARATION.test(word) && !hasScheme(word);
}

export function noSuchFile(word: string): PortolanError {
  return new PortolanError("TARGET_INVALID", `There is no file ${JSON.stringify(word)}.`, {
    hint: "Correct the path. To create an mcpfile to start from: portolan init mcpfile",
  });
}

/** For `list`: the file alone, or one of its servers, and a tool of it. */
export function resolveServerInFile(source: Source, rest: readonly string[]): ResolvedTarget {
  const [alias, ...more] = rest;
  const only = onlyServer(source);
  if (alias !== undefined) {
    const server = findServer(source, alias);
    if (server === undefined && only !== undefined)
      return { kind: "server", source, alias: only.alias, rest };
    return { kind: "server", source, alias: (server ?? requireServer(source, alias)).alias, rest: more };
  }
  return only === undefined
    ? { kind: "workspace", source, only: undefined, rest: [] }
    : { kind: "server", source, alias: only.alias, rest: [] };
}

/** For `read`: a URI alone, or a server and a URI. */
export function resolveUriInFile(source: Source, rest: readonly string[]): ResolvedTarget {
  const [first, second] = rest;
  const found = first === undefined ? undefined : findServer(source, first);
  if (found !== undefined && second !== undefined)
    return { kind: "server", source, alias: found.alias, rest: rest.slice(1) };
  const only = onlyServer(source);
  return only === undefined
    ? { kind: "workspace", source, only: undefined, rest }
    : { kind: "server", source, alias: only.alias, rest };
}

/** For `call` and `prompt` with a file of one server: the name of a tool, with or without the server before it. */
export function findOnly(source: Source, name: string, words: readonly string[]): ResolvedTarget | undefined {
  const only = onlyServer(source);
  if (only === undefined) return undefined;
  const [, second] = words;
  const isServer = findServer(source, name) === only && ownNames(only)?.includes(name) !== true;
  const rest = isServer && second !== undefined && !isAssignment(second) ? words.slice(1) : words;
  return { kind: "server", source, alias: only.alias, rest };
}

/** True for `key=value` and `key:=json`; no tool has such a name. */
export function isAssignment(word: string | undefined): boolean {
  return word !== undefined && /^[^\s=]+=/.test(word);
}

/** The server in `<server>.<name>`; undefined when there is none. */
export function serverBefore({ config: { servers } }: Source, word: string): ServerConfig | undefined {
  const names = (server: ServerConfig): string[] =>
    [server.alias, ...namesInFile(server)].filter((name) => word.startsWith(`${name}.`));
  return (
    servers.find((server) =>
      names(server).some((name) => ownNames(server)?.includes(word.slice(name.length + 1)) === true),
    ) ?? servers.find((server) => names(server).length > 0)
  );
}

/** The error for a name that no server of a file with several servers has. */
export function unknownOf(source: Source, name: string, reason: string | undefined): PortolanError {
  const { servers } = source.config;
  const names = servers.flatMap((server) =>
    (ownNames(server) ?? []).flatMap((own) => [own, `${server.alias}.${own}`]),
  );
  const known = servers.map(({ alias }) => alias);
  return new PortolanError(
    "TOOL_NOT_FOUND",
    `No server of ${basename(source.path)} has a tool or a prompt ${JSON.stringify(name)}.`,
    {
      hint:
        reason ??
        didYouMean(name, [...names, ...known]) ??
        `Write <server>.<name>. Servers: ${known.slice(0, 20).join(", ")}.`,
    },
  );
}

function onlyServer({ config: { servers } }: Source): ServerConfig | undefined {
  return servers.length === 1 ? servers[0] : undefined;
}

/** The names of a server's tools and prompts; undefined when only a running server can list them. */
export function ownNames({ endpoint }: ServerConfig): readonly string[] | undefined {
  if (endpoint.transport === "contracts") return [];
  if (endpoint.transport !== "invoke") return undefined;
  const { tools, prompts } = endpoint.server;
  return [...tools, ...prompts].map(({ definition }) => definition.name);
}
