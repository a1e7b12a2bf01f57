// Notices files and folders that a server is started with and its sandbox hides, and asks what it may do with them.

import { existsSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import { PortolanError } from "../../errors/index.ts";
import {
  type KnownServer,
  knownServer,
  MISSING_SCRIPT_HINT,
  programWords,
  type ServerConfig,
} from "../../model/index.ts";
import type { NamedPath } from "../../sandbox/index.ts";
import type { Cli } from "../context.ts";
import { answersRequests } from "../input/handlers.ts";
import { targetServer } from "../target/server-config.ts";
import type { Target } from "../target/target.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { computerOf, pathLabeller } from "../workspace/folder.ts";
import { chooseKnownNeeds, type KnownNeeds, NO_NEEDS } from "./known-needs.ts";

/** Absolute paths. */
export interface NoticedGrants {
  readonly read: readonly string[];
  readonly write: readonly string[];
  /** Paths that nobody granted, with the flags and the YAML that would. */
  readonly open: readonly string[];
  /** Needs of a known server that its arguments do not show, such as a data file or hosts. */
  readonly needs: KnownNeeds;
}

export interface NoticeRequest {
  /** The server as it would be started, with the grants that the user gave. Its working folder is absolute. */
  readonly server: ServerConfig;
  /** Fail instead of leaving a path hidden. */
  readonly strict: boolean;
  /** The command that grants a path, from flags such as `--allow-write P`: `Grant it with: <how>`. */
  readonly how: (flags: string) => string;
  /** The whole command again with further flags, where it is not the same. */
  readonly again?: (flags: string) => string;
  /** False when the person cannot be asked, although there is a terminal. */
  readonly asks?: boolean;
  /** True for a server that is started once, whose start itself reports what stays hidden. */
  readonly isOnce?: boolean;
  /** False if the caller reports what stays hidden by itself. */
  readonly notes?: boolean;
}

export const NOTHING_NOTICED: NoticedGrants = { read: [], write: [], open: [], needs: NO_NEEDS };

type Answer = "read" | "write" | "nothing";
const MAX_ASKED = 10;

/** Asks on a terminal. Elsewhere it grants nothing, and prints the flags and the YAML. */
export async function noticePaths(cli: Cli, request: NoticeRequest): Promise<NoticedGrants> {
  const { server, strict, how, again = how, asks = true, isOnce = false, notes = !isOnce } = request;
  const { endpoint, launch } = server;
  if (endpoint.transport !== "stdio" || endpoint.kind === "image" || endpoint.kind === "package")
    return NOTHING_NOTICED;
  const words = programWords(server);
  const known = knownServer(words);
  const { namedButHidden } = await import("../../launch/index.ts");
  const settings = { ...launch, cwdImplied: true };
  const hidden = await namedButHidden({ server: server.alias, endpoint, settings }).catch(() => []);
  const name = programName(words) ?? server.alias;
  const mayAsk = asks && answersRequests(cli, false);
  const more = await chooseKnownNeeds(cli, {
    ...{ server, known, how: again, notes: request.notes },
    canAsk: mayAsk && !isOnce,
  });
  if (hidden.length === 0) return { ...NOTHING_NOTICED, needs: more };
  const { home } = computerOf(cli.io, cli.io.cwd);
  const needs = hidden.map((path) => ({ path, grant: grantable(path, known, home) }));
  const canAsk = mayAsk && needs.length <= MAX_ASKED;
  const answers = canAsk ? await askAll(cli, name, needs, known) : needs.map((): Answer => "nothing");
  const granted = (wanted: Answer): string[] =>
    needs.flatMap(({ grant }, index) => (grant !== undefined && answers[index] === wanted ? [grant] : []));
  const left = needs.filter((_, index) => answers[index] === "nothing");
  const view = { name, known, how, label: pathLabeller(cli.io) };
  const open = left.map(({ path, grant }) => describeOpen(path, grant, view));
  if (strict && open.length > 0)
    throw new PortolanError("USAGE", open.map(({ fact }) => fact).join("\n"), {
      hint: `${open.map(({ hint }) => hint).join(" ")} Or leave out --strict.`,
      data: { hidden: left.map(({ path }) => path.path) },
    });
  const { output } = cli;
  for (const { fact, hint } of notes ? open : [])
    output.note(`${output.noteColors.yellow("warning")} ${fact}\n ${output.noteColors.cyan("hint")} ${hint}`);
  return {
    ...{ read: granted("read"), write: granted("write"), open: open.map(({ fact }) => fact) },
    needs: more,
  };
}

async function askAll(
  cli: Cli,
  name: string,
  needs: readonly { readonly path: NamedPath; readonly grant: string | undefined }[],
  known: KnownServer | undefined,
): Promise<Answer[]> {
  const prompter = await cli.io.createPrompter(cli.output.noteColors.enabled);
  const label = pathLabeller(cli.io);
  const answers: Answer[] = [];
  for (const {
    path: { path, where, isNew, isScript },
    grant,
  } of needs) {
    if (grant === undefined) {
      answers.push("nothing");
      continue;
    }
    const folder = grant === path ? "" : ` and other files in ${label(grant)}`;
    const place = where.startsWith("env.") ? ` (${where.slice("env.".length)})` : "";
    const state = isNew === true ? ", which does not exist yet," : "";
    const answer = await prompter.select({
      message: `${plainLine(name, 80)} is started with ${label(path)}${place}${state}${folder}. Allow:`,
      options: [
        { value: "read", label: "read" },
        { value: "write", label: "read and write" },
        { value: "nothing", label: "nothing" },
      ],
      initial: isScript === true ? "read" : (known?.access ?? (isNew === true ? "write" : "read")),
      signal: cli.interrupt.signal,
    });
    if (answer === undefined) throw new PortolanError("CANCELLED", "Nothing was changed.", { hint: "" });
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

/** The path to grant: the folder of a file that does not exist yet or that others stand beside. Undefined if it is too wide. */
function grantable(
  { path, isNew, isScript, grant = isNew === true ? undefined : path }: NamedPath,
  known: KnownServer | undefined,
  home: string,
): string | undefined {
  if (isScript === true) return grant;
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (known?.writesBeside !== true || isFolder) return grant;
  const folder = dirname(path);
  const isWide = [home, realHome(home), "/tmp", "/"].includes(folder);
  return isWide || !existsSync(folder) ? undefined : folder;
}

function realHome(home: string): string {
  try {
    return realpathSync(home);
  } catch {
    return home;
  }
}

function describeOpen(
  { path, where, isNew, isScript }: NamedPath,
  grant: string | undefined,
  { name, known, how, label }: OpenContext,
): { readonly fact: string; readonly hint: string } {
  if (isNew === true && isScript === true)
    return { fact: `There is no file ${label(path)} (${where}).`, hint: MISSING_SCRIPT_HINT };
  const fact = `${plainLine(name, 80)} is started with ${label(path)} (${where}), which ${isNew === true ? "does not exist yet, and which " : ""}its sandbox hides: nothing was granted.`;
  if (grant === undefined) {
    const own = shellWord(join(dirname(path), basename(known?.package ?? name), basename(path)));
    return {
      fact,
      hint: `Name a file in a folder of its own, such as ${own}, and grant that folder. A grant of ${label(dirname(path))} would be too wide.`,
    };
  }
  const kind = isScript === true ? "read" : (known?.access ?? "write");
  const word = shellWord(grant);
  const inYaml = word === grant ? grant : JSON.stringify(grant);
  const other = kind === "write" ? " (or read in place of write)" : "";
  return {
    fact,
    hint: `Grant it with: ${how(`--allow-${kind} ${word}`)}${other}, or in its config: sandbox: { fs: { ${kind}: [${inYaml}] } }`,
  };
}

interface OpenContext {
  readonly name: string;
  readonly known: KnownServer | undefined;
  readonly how: NoticeRequest["how"];
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
