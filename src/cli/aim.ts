// What the words of a command mean: a server given on the command line, or something of the workspace.

import { didYouMean, isPortolanError, PortolanError } from "../errors/index.ts";
import {
  aimAtServerOf,
  aimAtUriOf,
  bareName,
  isFileName,
  noSuchFile,
  takeFile,
  unknownOf,
} from "./aim-file.ts";
import { type Cli, takeTarget, type Words } from "./connect.ts";
import { contractNamed, contractsOf } from "./contracts-source.ts";
import { noteLeftOut } from "./left-out.ts";
import type { Target } from "./target.ts";
import { loadSource, type Source } from "./workspace-source.ts";

export type Aim =
  | { readonly kind: "target"; readonly target: Target; readonly rest: readonly string[] }
  /** One server; what it has goes by its own names. */
  | {
      readonly kind: "server";
      readonly source: Source;
      readonly alias: string;
      readonly rest: readonly string[];
    }
  /** Several servers, or all of them; what they have goes by full names. */
  | {
      readonly kind: "workspace";
      readonly source: Source;
      readonly only: readonly string[] | undefined;
      readonly rest: readonly string[];
    };

const DEFAULT_NAMING = "mcp_{alias}_{tool}";
const SCHEME = /^\s*[a-z][a-z0-9+.-]*:\/\//i;
/** `alias.name`, whose name may have a path: a prompt of a skill. */
const DOTTED = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_.-]+)+$/;
const CALL_HEAD = /^\s*(?:function\s+)?["']?([A-Za-z0-9_][A-Za-z0-9_./-]*)["']?\s*\(/;

/** For `list`: nothing, an alias, a contract, a target, or a declaration. */
export async function aimAtServer(words: Words, cli: Cli): Promise<Aim> {
  if (words.server !== undefined) return asTarget(words, cli);
  const file = await takeFile(words, cli);
  if (file !== undefined) return aimAtServerOf(file.source, file.rest);
  const [first] = words.words;
  if (first === undefined)
    return { kind: "workspace", source: await loadSource(cli), only: undefined, rest: [] };
  return isTargetOnly(first) ? asTarget(words, cli) : lookUp(first, words, cli, "contracts");
}

/** For `call` and `prompt`: `alias.name`, a full name, an alias and a name, or a target or a declaration and a name. */
export async function aimAtName(words: Words, cli: Cli, missing: PortolanError): Promise<Aim> {
  if (words.server !== undefined) return asTarget(words, cli);
  const file = await takeFile(words, cli);
  if (file !== undefined) return aimAtNameOf(file.source, file.rest, missing);
  const [first] = words.words;
  if (first === undefined) throw missing;
  const head = CALL_HEAD.exec(first)?.[1];
  if (head === undefined && isTargetOnly(first) && !DOTTED.test(first)) return asTarget(words, cli);
  return lookUp(head ?? first, words, cli, "all");
}

function aimAtNameOf(source: Source, words: readonly string[], missing: PortolanError): Aim {
  const [first] = words;
  if (first === undefined) throw missing;
  const name = CALL_HEAD.exec(first)?.[1] ?? first;
  const bare = bareName(source, name, words);
  if (bare?.isKnown === true) return bare.aim;
  const found = findIn(source, name, words, "all");
  if (found !== undefined && (found.rest.length > 0 || bare === undefined)) return found;
  if (bare === undefined) throw unknownOf(source, name);
  return bare.aim;
}

/** For `read`: a URI alone, an alias and a URI, or a target or a declaration and a URI. */
export async function aimAtUri(words: Words, cli: Cli, missing: PortolanError): Promise<Aim> {
  if (words.server !== undefined) return asTarget(words, cli);
  const file = await takeFile(words, cli);
  if (file !== undefined) return aimAtUriOf(file.source, file.rest);
  const [first, second] = words.words;
  if (first === undefined) throw missing;
  if (second !== undefined)
    return isTargetOnly(first) ? asTarget(words, cli) : lookUp(first, words, cli, "servers");
  const source = await loadSource(cli);
  const { servers } = source.config;
  const isUri = /^[a-z][a-z0-9+.-]*:/i.test(first);
  if (servers.length === 0 || servers.some(({ alias }) => alias === first) || !isUri) throw missing;
  return { kind: "workspace", source, only: undefined, rest: [first] };
}

function asTarget(words: Words, cli: Cli): Aim {
  return { kind: "target", ...takeTarget(words, cli) };
}

/** A URL, a quoted command, or a path: never a name of the workspace. */
function isTargetOnly(word: string): boolean {
  return SCHEME.test(word) || /\s/.test(word.trim()) || /^[.~]|[/\\]/.test(word);
}

/** What a word may name beside servers. */
type Named = "servers" | "contracts" | "all";

async function lookUp(name: string, words: Words, cli: Cli, named: Named): Promise<Aim> {
  const source = await loadSource(cli);
  const found = findIn(source, name, words.words, named);
  if (found !== undefined) return found;
  try {
    return asTarget(words, cli);
  } catch (thrown) {
    if (isFileName(name)) throw noSuchFile(name);
    // What is meant may be what is left out.
    noteLeftOut(cli, source);
    const { servers, naming = DEFAULT_NAMING } = source.config;
    const aliases = servers.map(({ alias }) => alias);
    throw unknown(thrown, name, aliases, naming);
  }
}

/** What of the servers is meant. `name` is what the first word calls; the word itself may have arguments as well. */
function findIn(source: Source, name: string, words: readonly string[], named: Named): Aim | undefined {
  const { servers, naming = DEFAULT_NAMING } = source.config;
  const [word = "", ...rest] = words;
  const aliases = servers.map(({ alias }) => alias);
  if (aliases.includes(name)) return { kind: "server", source, alias: name, rest };
  const contract = named === "servers" ? undefined : contractIn(source, name, words);
  if (contract !== undefined || named !== "all") return contract;
  const dot = name.indexOf(".");
  const alias = dot < 0 ? "" : name.slice(0, dot);
  const after = (start: string): string => word.slice(word.indexOf(start) + start.length);
  if (aliases.includes(alias)) return { kind: "server", source, alias, rest: [after(`${alias}.`), ...rest] };
  const owners = aliases.filter((candidate) => couldBeOf(name, candidate, naming));
  const [only] = owners;
  const prefix = naming.split("{tool}")[0]?.replaceAll("{alias}", only ?? "") ?? "";
  if (only !== undefined && owners.length === 1 && naming.endsWith("{tool}"))
    return { kind: "server", source, alias: only, rest: [after(prefix), ...rest] };
  return only === undefined ? undefined : { kind: "workspace", source, only: owners, rest: [word, ...rest] };
}

/** A contract has its name by itself, whichever server it is of. */
function contractIn(source: Source, name: string, rest: readonly string[]): Aim | undefined {
  const own = contractsOf(source);
  if (own === undefined || contractNamed(own.endpoint, name) === undefined) return undefined;
  return { kind: "server", source, alias: own.alias, rest };
}

/** Whether a full name could be that of a tool of this server, by the naming template alone. */
function couldBeOf(name: string, alias: string, naming: string): boolean {
  const pattern = naming
    .split(/(\{alias\}|\{tool\})/)
    .map((part) => (part === "{tool}" ? "[^]+" : escapePattern(part === "{alias}" ? alias : part)));
  // A long name was cut and ends in a hash: what comes after the tool's name is not there.
  const cut = naming.endsWith("{tool}") ? "" : "(?:[^]*)";
  return new RegExp(`^${pattern.join("")}${cut}$`).test(name);
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

/** The target's error, with the names of the workspace among what may have been meant. */
function unknown(thrown: unknown, name: string, aliases: readonly string[], naming: string): unknown {
  if (!isPortolanError(thrown) || thrown.code !== "TARGET_INVALID" || aliases.length === 0) return thrown;
  if (!thrown.message.includes("neither")) return thrown;
  const dot = name.indexOf(".");
  const tool = dot < 0 ? undefined : name.slice(dot + 1);
  const near =
    didYouMean(name, aliases) ??
    (tool === undefined
      ? undefined
      : didYouMean(
          name,
          aliases.map((alias) => `${alias}.${tool}`),
        )) ??
    didYouMean(name, fullNames(name, aliases, naming));
  return new PortolanError(
    "TARGET_INVALID",
    `${JSON.stringify(name)} is neither a server of this workspace nor a URL nor a command on PATH.`,
    {
      hint: near ?? `Servers here: ${aliases.slice(0, 20).join(", ")}. Their tools: portolan list`,
      cause: thrown,
    },
  );
}

/** The typed name with another alias in place of the one that is not known. */
function fullNames(name: string, aliases: readonly string[], naming: string): string[] {
  const [before = "", between = ""] = naming.split(/\{alias\}|\{tool\}/);
  if (!naming.startsWith(`${before}{alias}`) || between === "" || !name.startsWith(before)) return [];
  const tool = name.slice(before.length).split(between).slice(1).join(between);
  return tool === "" ? [] : aliases.map((alias) => `${before}${alias}${between}${tool}`);
}
