// Notices files, folders and hosts that a server is started with and its sandbox denies, and asks what it may do with them.

import { mkdir } from "node:fs/promises";
import { basename } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import { PortolanError } from "../../errors/index.ts";
import {
  isSystemPath,
  type KnownServer,
  knownServer,
  MISSING_SCRIPT_HINT,
  type NamedHost,
  ownDataHint,
  pathGrantHint,
  programWords,
  type ServerConfig,
  ungrantedHosts,
} from "../../model/index.ts";
import type { NamedPath } from "../../sandbox/index.ts";
import type { Cli } from "../context.ts";
import { answersRequests } from "../input/handlers.ts";
import { targetServer } from "../target/server-config.ts";
import type { Target } from "../target/target.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { askYesNo, chooseKnownNeeds, type KnownNeeds, NO_NEEDS } from "./known-needs.ts";

/** Absolute paths. */
export interface NoticedGrants {
  readonly read: readonly string[];
  readonly write: readonly string[];
  /** Paths that nobody granted, with the flags and the YAML that would. */
  readonly open: readonly string[];
  /** Needs of a known server that its arguments do not show, such as a data file or hosts. */
  readonly needs: KnownNeeds;
  /** Hosts that the person granted. */
  readonly network: readonly string[];
  /** Hosts that nobody granted. */
  readonly openHosts: readonly NamedHost[];
}

export interface NoticeRequest {
  /** The server as it would be started, with the grants that the user gave. Its working folder is absolute. */
  readonly server: ServerConfig;
  /** Its arguments and variables, if `server` has references in place of secret values: such a value may name a host. */
  readonly plain?: { readonly args?: readonly string[]; readonly env?: Readonly<Record<string, string>> };
  /** Fail instead of leaving a path hidden. */
  readonly strict: boolean;
  /** The command that grants a path, from flags such as `--allow-write P`: `Grant it with: <how>`. */
  readonly how: (flags: string) => string;
  /** False when the person cannot be asked, although there is a terminal. */
  readonly asks?: boolean;
  /** True for a server that is started once, whose start itself reports what stays hidden. */
  readonly isOnce?: boolean;
  /** False if the caller reports what stays hidden by itself. */
  readonly notes?: boolean;
}

export const NOTHING_NOTICED: NoticedGrants = {
  ...{ read: [], write: [], open: [], needs: NO_NEEDS },
  ...{ network: [], openHosts: [] },
};

type Answer = "read" | "write" | "nothing";

/** A path that the sandbox would hide. */
interface Need {
  readonly path: NamedPath;
  /** The path to grant; undefined if it cannot be granted. */
  readonly grant: string | undefined;
  /** True for a folder that does not exist yet: it is created before it is granted. */
  readonly isNewFolder: boolean;
}

const MAX_ASKED = 10;

/** Asks on a terminal. Elsewhere it grants nothing, and prints the flags and the YAML. */
export async function noticePaths(cli: Cli, request: NoticeRequest): Promise<NoticedGrants> {
  const { server, strict, how, asks = true, isOnce = false, notes = !isOnce } = request;
  const { endpoint, launch } = server;
  if (endpoint.transport !== "stdio" || endpoint.kind === "image" || endpoint.kind === "package")
    return NOTHING_NOTICED;
  const words = programWords(server);
  const known = knownServer(words);
  const { checkPaths } = await import("../../launch/index.ts");
  const settings = { ...launch, cwdImplied: true };
  const checked = checkPaths({ server: server.alias, endpoint, settings });
  const { hidden } = await checked.catch(() => ({ hidden: [] }));
  const name = nameOf(programName(words), server, isOnce);
  const mayAsk = asks && answersRequests(cli, false);
  const more = await chooseKnownNeeds(cli, {
    ...{ server, known, notes: request.notes },
    canAsk: mayAsk && !isOnce,
  });
  const needs = hidden.map((path): Need => {
    const isFolder = path.isNew === true && known?.takesFolders === true;
    const isNewFolder = isFolder || path.isNewFolder === true;
    return { path, isNewFolder, grant: grantable(isFolder ? { ...path, grant: path.path } : path) };
  });
  const canAsk = mayAsk && needs.length <= MAX_ASKED;
  const answers = canAsk ? await askAll(cli, name, needs, known) : needs.map((): Answer => "nothing");
  const granted = (wanted: Answer): string[] =>
    needs.flatMap(({ grant }, index) => (grant !== undefined && answers[index] === wanted ? [grant] : []));
  const isGranted = (_: Need, index: number): boolean => answers[index] !== "nothing";
  for (const { grant, isNewFolder } of needs.filter(isGranted))
    if (isNewFolder && grant !== undefined) await mkdir(grant, { recursive: true });
  const left = needs.filter((_, index) => answers[index] === "nothing");
  const view = { name, known, how, isOnce, label: pathLabeller(cli.io) };
  const isOff = launch?.sandbox?.mode === "off";
  const named =
    isOnce || isOff ? [] : ungrantedHosts({ launch, endpoint: { ...endpoint, ...request.plain } });
  const hosts = named.filter(({ rule }) => known?.hosts?.includes(rule) !== true);
  const network = mayAsk && hosts.length <= MAX_ASKED ? await askHosts(cli, name, hosts) : [];
  const openHosts = hosts.filter(({ rule }) => !network.includes(rule));
  const open = left.map((need) => describeOpen(need, view));
  if (strict && open.length > 0)
    throw new PortolanError("USAGE", open.map(({ fact }) => fact).join("\n"), {
      hint: `${open.map(({ hint }) => hint).join(" ")} Or leave out --strict: the sandbox then hides the path.`,
      data: { hidden: left.map(({ path }) => path.path) },
    });
  const { output } = cli;
  const leftHosts = openHosts.map((host) => describeOpenHost(host, view));
  for (const { fact, hint } of notes ? [...open, ...leftHosts] : [])
    output.note(`${output.noteColors.yellow("warning")} ${fact}\n ${output.noteColors.cyan("hint")} ${hint}`);
  return {
    ...{ read: granted("read"), write: granted("write"), open: open.map(({ fact }) => fact) },
    ...{ needs: more, network, openHosts },
  };
}

/** Asks about each host. Returns the granted ones. */
async function askHosts(cli: Cli, name: string, hosts: readonly NamedHost[]): Promise<string[]> {
  const granted: string[] = [];
  for (const { rule, where } of hosts) {
    const isAllowed = await askYesNo(cli, {
      message: `${hostPlace(where)} of ${plainLine(name, 80)} names the host ${rule}. May the server connect to it?`,
      yes: "yes",
      no: "no; tools that need this connection will fail",
    });
    if (isAllowed) granted.push(rule);
  }
  return granted;
}

/** The variable that names a host, or the arguments. */
function hostPlace(where: string): string {
  return where.startsWith("env.")
    ? `The variable ${plainLine(where.slice("env.".length), 80)}`
    : "An argument";
}

/** ` (JIRA_URL)`; empty for an argument. */
function placeLabel(where: string): string {
  return where.startsWith("env.") ? ` (${plainLine(where.slice("env.".length), 80)})` : "";
}

/** The program, with the alias of the server if that is another word: two servers may run the same program. */
function nameOf(program: string | undefined, { alias }: ServerConfig, isOnce: boolean): string {
  return program === undefined || isOnce || program === alias ? (program ?? alias) : `${alias} (${program})`;
}

async function askAll(
  cli: Cli,
  name: string,
  needs: readonly Need[],
  known: KnownServer | undefined,
): Promise<Answer[]> {
  const prompter = await cli.io.createPrompter(cli.output.noteColors.enabled);
  const label = pathLabeller(cli.io);
  const answers: Answer[] = [];
  for (const {
    path: { path, where, isNew, isScript, isShared },
    grant,
    isNewFolder,
  } of needs) {
    if (grant === undefined) {
      answers.push("nothing");
      continue;
    }
    const isOwn = grant === path;
    const what = isNewFolder
      ? isOwn
        ? "Create the folder, and allow:"
        : `Create the folder ${label(grant)}, and allow for all files in it:`
      : isOwn
        ? "Allow:"
        : `Allow for all files in ${label(grant)}:`;
    const place = placeLabel(where);
    const state = isNew === true ? ", which does not exist yet" : "";
    const isWide = isShared === true;
    const wide = isWide
      ? ` It needs the folder of this file, but could then change all other files there. A folder of its own is safer: answer "nothing" to see how.`
      : "";
    const usual = isScript === true ? "read" : (known?.access ?? (isNew === true ? "write" : "read"));
    const answer = await prompter.select({
      message: `${plainLine(name, 80)} is started with ${label(path)}${place}${state}.${wide} ${what}`,
      options: [
        { value: "read", label: "read" },
        { value: "write", label: "read and write" },
        { value: "nothing", label: "nothing" },
      ],
      initial: isWide ? "nothing" : usual,
      signal: cli.interrupt.signal,
    });
    if (answer === undefined)
      throw new PortolanError("CANCELLED", "Cancelled. Nothing was changed.", { hint: "" });
    answers.push(answer as Answer);
  }
  return answers;
}

/**
 * For a server given on the command line: asks on a terminal, for this run only. Elsewhere the start itself reports
 * hidden paths, and only --strict needs to look before.
 */
export async function withNoticedOptions(
  cli: Cli,
  target: Target,
  {
    stdinTaken = false,
    folder = cli.io.cwd,
  }: { readonly stdinTaken?: boolean; readonly folder?: string } = {},
): Promise<Cli> {
  const { options, io } = cli;
  const { sandbox, strict } = options;
  const asks = answersRequests(cli, stdinTaken);
  if (target.kind !== "command" || sandbox.mode === "off" || (!asks && !strict)) return cli;
  const server = targetServer(target, options, io.cwd);
  const { endpoint } = server;
  const placed =
    endpoint.transport === "stdio" && options.cwd === undefined ? { ...endpoint, cwd: folder } : endpoint;
  const { read, write } = await noticePaths(cli, {
    server: { ...server, endpoint: placed },
    ...{ strict, asks, isOnce: true, how: (flags: string) => flags },
  });
  if (read.length + write.length === 0) return cli;
  const added = { ...sandbox, read: [...sandbox.read, ...read], write: [...sandbox.write, ...write] };
  return { ...cli, options: { ...options, sandbox: added } };
}

/** The path to grant. Undefined for a new file whose folder is too wide, and for a path of the system or of another user. */
function grantable({ path, isNew, ownFile, isShared, grant }: NamedPath): string | undefined {
  const wanted =
    ownFile === undefined || isShared === true ? (grant ?? (isNew === true ? undefined : path)) : undefined;
  return wanted === undefined || isSystemPath(wanted) ? undefined : wanted;
}

function describeOpen(
  { path: named, grant, isNewFolder }: Need,
  { name, known, how, isOnce, label }: OpenContext,
): { readonly fact: string; readonly hint: string } {
  const { path, where, isNew, isScript } = named;
  if (isNew === true && isScript === true)
    return { fact: `There is no file ${label(path)} (${where}).`, hint: MISSING_SCRIPT_HINT };
  const fact = `${plainLine(name, 80)} is started with ${label(path)} (${where})${isNew === true ? ", which does not exist yet" : ""}. The sandbox of the server hides this path, because no access to it was granted.`;
  const command = how("").trim();
  // Before the server is in a config file, `grant` cannot change it.
  if (named.ownData !== undefined && command.startsWith("portolan grant "))
    return { fact, hint: ownDataHint(named, named.ownData, command) };
  if (grant === undefined || named.isShared === true) return { fact, hint: pathGrantHint(named, undefined) };
  const kind = isScript === true ? "read" : (known?.access ?? (isNew === true ? "write" : "read"));
  const word = shellWord(grant);
  const other =
    kind === "write"
      ? " (use read instead of write if the server only reads)"
      : isScript === true || known?.access === "read"
        ? ""
        : " (use write instead of read if the server also writes)";
  // A server that is given on the command line has no config.
  const inYaml = word === grant ? grant : JSON.stringify(grant);
  const inConfig = isOnce
    ? ""
    : `, or in the config of the server: sandbox: { fs: { ${kind}: [${inYaml}] } }`;
  return {
    fact,
    hint: `${isNewFolder ? `Create the folder: mkdir -p ${word}. ` : ""}Grant it with: ${how(`--allow-${kind} ${word}`)}${other}${inConfig}${isOnce ? "." : ""}`,
  };
}

function describeOpenHost(
  { rule, where }: NamedHost,
  { name, how }: OpenContext,
): { readonly fact: string; readonly hint: string } {
  const word = shellWord(rule);
  return {
    fact: `${plainLine(name, 80)} is started with the host ${rule} (${plainLine(where, 80)}). The sandbox of the server denies connections to this host, because no access to it was granted.`,
    hint: `Grant it with: ${how(`--allow-net ${word}`)}, or in the config of the server: sandbox: { network: [${yamlText(rule)}] }`,
  };
}

/** A colon or a bracket needs quotes in a YAML list. */
function yamlText(text: string): string {
  return /^[\w.-]+$/.test(text) ? text : JSON.stringify(text);
}

interface OpenContext {
  readonly name: string;
  readonly known: KnownServer | undefined;
  readonly how: NoticeRequest["how"];
  readonly isOnce: boolean;
  readonly label: (path: string) => string;
}

const RUNNERS = /^(?:node|npx|bunx?|deno|python3?|uvx?|pipx|ruby|java|sh|bash|run|exec|tool)$/i;

/** `server-filesystem` for `npx -y @modelcontextprotocol/server-filesystem@1 ~/notes`. */
function programName(words: readonly string[]): string | undefined {
  const found = words.find((word) => !word.startsWith("-") && !RUNNERS.test(basename(word)));
  const scoped = found?.replace(/(?<=.)@[^/]*$/, "");
  const inPackage = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(scoped ?? "")?.[1];
  const name = basename(inPackage ?? scoped ?? "");
  return name === "" ? undefined : name;
}
