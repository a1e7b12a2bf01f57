// Target resolution: finds the server, or the servers, that the words of a command line name.

import { askAbout, didYouMean, PortolanError, suggest } from "../../errors/index.ts";
import { DEFAULT_NAMING } from "../../model/index.ts";
import type { Cli, Words } from "../context.ts";
import { clientHint } from "../workspace/client-hint.ts";
import { contractsOf, findContract } from "../workspace/contracts.ts";
import { elsewhereHint, withElsewhere } from "../workspace/elsewhere.ts";
import { explainLeftOut, leftOutOf, noteLeftOut } from "../workspace/left-out.ts";
import { loadSourceOrRunning } from "../workspace/running.ts";
import { findServer, type Source } from "../workspace/source.ts";
import { takeTarget } from "./connect.ts";
import {
  findOnly,
  isAssignment,
  isFileName,
  noSuchFile,
  ownNames,
  resolveServerInFile,
  resolveUriInFile,
  serverBefore,
  takeFile,
  unknownOf,
} from "./resolve-in-file.ts";
import { hasScheme, isUnknownTarget, type Target } from "./target.ts";

type NamedTarget = Exclude<ResolvedTarget, DirectTarget>;

interface DirectTarget {
  readonly kind: "direct";
  readonly direct: Target;
  readonly rest: readonly string[];
}

export type ResolvedTarget =
  | DirectTarget
  /** One server of the workspace; its tools are listed by their own names. */
  | {
      readonly kind: "server";
      readonly source: Source;
      readonly alias: string;
      readonly rest: readonly string[];
      readonly program?: DirectTarget;
    }
  /** Several servers of the workspace, or all of them; their tools are listed by full names. */
  | {
      readonly kind: "workspace";
      readonly source: Source;
      readonly only: readonly string[] | undefined;
      readonly rest: readonly string[];
      /** The program on PATH of this name, if no server has such a tool. */
      readonly program?: DirectTarget;
    };

/** `alias.name`, where the name may have a path, as prompts of a skill do. */
const DOTTED = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_.-]+)+$/;
/** The end of a full name that was too long for the naming template. */
const CUT_NAME = /^(.+)_[0-9a-f]{8}$/;
const CALL_HEAD = /^\s*(?:function\s+)?["']?([A-Za-z0-9_][A-Za-z0-9_./-]*)["']?\s*\(/;

/** For `list`: no word, an alias, `alias.name`, a contract, a target, or a config file. */
export async function resolveServer(words: Words, cli: Cli): Promise<ResolvedTarget> {
  if (words.server !== undefined) return asDirect(words, cli);
  const file = await takeFile(words, cli);
  if (file !== undefined) return resolveServerInFile(file.source, file.rest);
  const [first, ...rest] = words.words;
  if (first === undefined)
    return { kind: "workspace", source: await loadSourceOrRunning(cli), only: undefined, rest: [] };
  if (isTargetOnly(first)) return asDirect(words, cli);
  return lookUp(first, words, cli, (source) => {
    const server = findServer(source, first);
    if (server !== undefined) return { kind: "server", source, alias: server.alias, rest };
    const contract = contractIn(source, first, words.words);
    if (contract !== undefined) return contract;
    const dotted = serverBefore(source, first);
    return dotted && { kind: "server", source, alias: dotted.alias, rest: words.words };
  });
}

/**
 * For `call` and `prompt`: `alias.name`, a full name, a unique name, or an alias, target or config file and a name.
 * `isTool`: for `call`, whose arguments need no name, so that a second word does not make the first one a target.
 */
export async function resolveName(
  words: Words,
  cli: Cli,
  missing: PortolanError,
  { isTool = false }: { readonly isTool?: boolean } = {},
): Promise<ResolvedTarget> {
  if (words.server !== undefined) return asDirect(words, cli);
  const file = await takeFile(words, cli);
  const [first] = file?.rest ?? words.words;
  if (first === undefined) throw missing;
  const head = CALL_HEAD.exec(first)?.[1];
  const name = head ?? first;
  if (file !== undefined) {
    const found = findOnly(file.source, name, file.rest) ?? findName(file.source, name, file.rest);
    return found ?? inAnyServer(file.source, name, file.rest, cli);
  }
  if (head === undefined && isTargetOnly(first) && !DOTTED.test(first)) return asDirect(words, cli);
  return lookUp(
    name,
    words,
    cli,
    (source) =>
      findName(source, name, words.words) ??
      (isAlone(words) ? bareName(source, name, words.words, cli) : undefined),
    (source, direct) =>
      direct === undefined || isTool ? bareName(source, name, words.words, cli) : undefined,
  );
}

/** Without a second word that could be a tool, the first word is no target, even if a command has this name. */
function isAlone({ words: [, second] }: Words): boolean {
  return second === undefined || isAssignment(second) || second.startsWith("--");
}

const TOOL_NAME = /^[A-Za-z0-9_][A-Za-z0-9_./-]*$/;

/** A tool's own name, which any server that lists its tools only while it runs may have. */
function bareName(source: Source, name: string, words: readonly string[], cli: Cli): NamedTarget | undefined {
  const running = source.config.servers.filter((one) => one.enabled && ownNames(one) === undefined);
  if (running.length === 0 || !TOOL_NAME.test(name) || name.includes(".") || isFileName(name))
    return undefined;
  // The user may mean a part that is left out.
  noteLeftOut(cli, leftOutOf(source));
  return inServers(source, running, words);
}

/** For `read`: a URI alone, or an alias, target or config file and a URI. */
export async function resolveUri(words: Words, cli: Cli, missing: PortolanError): Promise<ResolvedTarget> {
  if (words.server !== undefined) return asDirect(words, cli);
  const file = await takeFile(words, cli);
  if (file !== undefined) return resolveUriInFile(file.source, file.rest);
  const [first, ...rest] = words.words;
  if (first === undefined) throw missing;
  if (rest.length > 0) {
    if (isTargetOnly(first)) return asDirect(words, cli);
    return lookUp(first, words, cli, (source) => {
      const server = findServer(source, first);
      return server === undefined ? undefined : { kind: "server", source, alias: server.alias, rest };
    });
  }
  const source = await loadSourceOrRunning(cli);
  const { servers } = source.config;
  const isUri = /^[a-z][a-z0-9+.-]*:/i.test(first);
  if (servers.some(({ alias }) => alias === first)) throw missing;
  if (!isUri) throw isTargetOnly(first) ? missing : notAUri(first, missing);
  if (servers.length === 0) throw /^(?:https?|wss?):/i.test(first) ? missing : nowhereToRead(source);
  return { kind: "workspace", source, only: undefined, rest: [first] };
}

function notAUri(word: string, { hint }: PortolanError): PortolanError {
  const message = `${JSON.stringify(word)} is neither the URI of a resource nor a server of this workspace.`;
  return new PortolanError("USAGE", message, { hint });
}

function nowhereToRead(source: Source): PortolanError {
  const hint =
    'Add a server: portolan add <package>. Or name a URL or a command in quotes: portolan read "npx -y <package>" <uri>';
  const message =
    "Without the name of a server, portolan read looks for the URI in the servers of the workspace, but this workspace has no servers.";
  return withElsewhere(new PortolanError("SERVER_UNKNOWN", message, { hint }), source);
}

function asDirect(words: Words, cli: Cli): DirectTarget {
  const { target, rest } = takeTarget(words, cli);
  return { kind: "direct", direct: target, rest };
}

/** True for a URL, a quoted command or a path, which are never names of the workspace. */
function isTargetOnly(word: string): boolean {
  return hasScheme(word) || /\s/.test(word.trim()) || /^[.~]|[/\\]/.test(word);
}

async function lookUp(
  name: string,
  words: Words,
  cli: Cli,
  find: (source: Source) => ResolvedTarget | undefined,
  /** Used if the words name no target either, or a program on PATH. */
  otherwise: (source: Source, direct?: DirectTarget) => NamedTarget | undefined = () => undefined,
): Promise<ResolvedTarget> {
  const source = await loadSourceOrRunning(cli);
  const found = find(source);
  if (found !== undefined) return found;
  try {
    const direct = asDirect(words, cli);
    const named = otherwise(source, direct);
    return named === undefined ? direct : { ...named, program: direct };
  } catch (thrown) {
    const other = isUnknownTarget(thrown) ? otherwise(source) : undefined;
    if (other !== undefined) return other;
    if (isFileName(name)) throw noSuchFile(name);
    // The user may mean a part that is left out.
    noteLeftOut(cli, leftOutOf(source));
    if (!isUnknownTarget(thrown)) throw thrown;
    // With -w, the user has chosen the workspace.
    const isChosen = cli.options.workspace !== undefined;
    const elsewhere =
      (await clientHint(cli, source, name)) ??
      source.elsewhere ??
      (isChosen ? undefined : await elsewhereHint(cli.io, source.path));
    throw withElsewhere(unknown(thrown, name, source), { elsewhere });
  }
}

/**
 * Finds the servers that can have a tool or a prompt of this name; the session then looks it up in their lists.
 * `name` is the name in the first word, which may hold arguments as well.
 */
function findName(source: Source, name: string, words: readonly string[]): ResolvedTarget | undefined {
  const { servers, naming = DEFAULT_NAMING } = source.config;
  const server = findServer(source, name);
  if (server !== undefined && !isAssignment(words[1]))
    return { kind: "server", source, alias: server.alias, rest: words.slice(1) };
  const contract = contractIn(source, name, words);
  if (contract !== undefined) return contract;
  const dotted = serverBefore(source, name);
  if (dotted !== undefined) return { kind: "server", source, alias: dotted.alias, rest: words };
  const owners = servers.filter((one) => ownNames(one)?.includes(name) === true);
  if (owners.length > 0) {
    const [only] = owners;
    if (only !== undefined && owners.length === 1 && servers.every((one) => ownNames(one) !== undefined))
      return { kind: "server", source, alias: only.alias, rest: words };
    return inServers(source, servers, words);
  }
  const possible = servers.filter(({ alias }) => couldBeOf(name, alias, naming));
  if (possible.length > 0) return inServers(source, possible, words);
  return server === undefined
    ? undefined
    : { kind: "server", source, alias: server.alias, rest: words.slice(1) };
}

function inServers(
  source: Source,
  servers: Source["config"]["servers"],
  rest: readonly string[],
): NamedTarget {
  const only = servers.map(({ alias }) => alias);
  const [alias = ""] = only;
  return only.length === 1
    ? { kind: "server", source, alias, rest }
    : { kind: "workspace", source, only, rest };
}

/** Uses the servers of a file that list their tools only while they run. */
function inAnyServer(source: Source, name: string, words: readonly string[], cli: Cli): ResolvedTarget {
  const { servers } = source.config;
  const unlisted = servers.some((one) => ownNames(one) === undefined && one.enabled);
  if (!unlisted) throw unknownOf(source, name, explainLeftOut(source, name, cli));
  return inServers(source, servers, words);
}

/** Contracts are called by their name alone, whatever server they belong to. */
function contractIn(source: Source, name: string, rest: readonly string[]): ResolvedTarget | undefined {
  const own = contractsOf(source);
  if (own === undefined || findContract(own.endpoint, name) === undefined) return undefined;
  return { kind: "server", source, alias: own.alias, rest };
}

/** True when the naming template could make this full name for a tool of the server. */
function couldBeOf(name: string, alias: string, naming: string): boolean {
  const expand = (text: string): string => text.replaceAll("{alias}", alias);
  const pattern = naming.split("{tool}").map((part) => escapePattern(expand(part)));
  if (new RegExp(`^${pattern.join("[^]+")}$`).test(name)) return true;
  // A name that was too long is cut at any place, and ends in a hash.
  const cut = CUT_NAME.exec(name)?.[1];
  const start = expand(naming.split("{tool}")[0] ?? "");
  return cut !== undefined && (start.startsWith(cut) || cut.startsWith(start));
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

/** The error of the target, with the nearest name of the workspace as its hint. */
function unknown(thrown: PortolanError, name: string, source: Source): PortolanError {
  const aliases = source.config.servers.map(({ alias }) => alias);
  if (aliases.length === 0)
    return new PortolanError(
      "TARGET_INVALID",
      `${JSON.stringify(name)} is neither a URL nor a command on PATH, and this workspace has no servers.`,
      { hint: thrown.hint, data: thrown.data, cause: thrown },
    );
  const near = didYouMean(name, aliases) ?? askAbout(withKnownServer(name, source));
  return new PortolanError(
    "TARGET_INVALID",
    `${JSON.stringify(name)} is neither a server of this workspace nor a URL nor a command on PATH.`,
    {
      hint: near ?? `Servers here: ${aliases.slice(0, 20).join(", ")}. Their tools: portolan list`,
      cause: thrown,
    },
  );
}

/** The typed name of a tool with a similar server in place of the unknown one, unless that server lists no such tool. */
function withKnownServer(name: string, { config }: Source): string[] {
  const { servers, naming = DEFAULT_NAMING } = config;
  const [before = "", between = ""] = naming.split(/\{alias\}|\{tool\}/);
  const isFull = naming.startsWith(`${before}{alias}`) && between !== "" && name.startsWith(before);
  const [start, end] = name.includes(".") || !isFull ? ["", "."] : [before, between];
  const [typed = "", ...rest] = name.slice(start.length).split(end);
  const tool = rest.join(end);
  if (tool === "") return [];
  const possible = servers.filter((server) => ownNames(server)?.includes(tool) !== false);
  const near = suggest(
    typed,
    possible.map(({ alias }) => alias),
  );
  return near.map((alias) => `${start}${alias}${end}${tool}`);
}
