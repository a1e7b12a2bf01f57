// `portolan grant` and `portolan revoke`: change what the sandbox of a server contains, in the file that declares it.

import { statSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { PortolanError } from "../../errors/index.ts";
import {
  type GrantKind,
  type Grants,
  grantIn,
  readGrants,
  revokeIn,
  SANDBOX_PLACES,
  type SandboxEdit,
} from "../../formats/clients/index.ts";
import {
  type KnownServer,
  knownServer,
  looksLikeFile,
  parseNetworkRule,
  programWords,
  type ServerConfig,
} from "../../model/index.ts";
import { filled } from "../../formats/manifest/index.ts";
import type { Cli } from "../context.ts";
import { networkOf } from "../options/sandbox.ts";
import { takeOneWord, throwUsageErrors } from "../options/usage-error.ts";
import { describeDiff } from "../output/text-diff.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { computerOf, pathLabeller } from "../workspace/folder.ts";
import { shellWord } from "../../base/text/command-line.ts";
import { type AppliedChange, applyToGateways } from "../control/apply.ts";
import { changeFile } from "./change-file.ts";
import { type Declared, findDeclared } from "./declared.ts";
import { prepareData } from "./known-needs.ts";
import { absolutePath, writtenPath } from "./paths.ts";
import { refusedPath } from "./refused-path.ts";
import { wideGrant } from "./wide-grants.ts";

export interface GrantOptions {
  read?: string[];
  write?: string[];
  net?: string[];
  env?: string[];
  /** Folder for the data of a known server, which Portolan creates. */
  data?: string;
  dryRun?: boolean;
}

type Verb = "grant" | "revoke";

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const KINDS: readonly GrantKind[] = ["read", "write", "net", "env"];

/** Grants to, or takes from, one server of the workspace. */
export async function changeGrants(
  cli: Cli,
  verb: Verb,
  words: readonly string[],
  options: GrantOptions,
): Promise<number> {
  const { io } = cli;
  const usage = `portolan ${verb} <server> --read <path> --write <path> --net <host> --env <name>${verb === "grant" ? " --data <folder>" : ""}`;
  const [, path] = words;
  const isPath = words.length === 2 && path !== undefined && /[/\\]|^[.~]/.test(path);
  const word = isPath ? shellWord(path) : "";
  const alias = takeOneWord(words, {
    ...{ command: verb, noun: "server" },
    hint: isPath ? `For the path, write --read ${word} or --write ${word}` : usage,
  });
  const asked = options.data !== undefined || KINDS.some((kind) => (options[kind] ?? []).length > 0);
  if (!asked)
    throw new PortolanError("USAGE", `portolan ${verb} ${alias} does not say what to ${verb}.`, {
      hint: `${usage}. To see the present rights of the server: portolan why --plan ${shellWord(alias)}`,
    });
  const isDry = options.dryRun === true;
  const declared = await findDeclared(cli, alias, { verb, copies: verb === "grant", isDry });
  const checked = await checkGrants(cli, verb, options, declared.server);
  const data = options.data === undefined ? undefined : dataFolder(cli, declared.server, options.data);
  const wanted = data === undefined ? checked : { ...checked, write: [...checked.write, dirname(data.file)] };
  const noPlace = KINDS.filter((kind) => wanted[kind].length > 0 && declared.places[kind] === undefined);
  throwUsageErrors(
    noPlace.map(
      (kind) =>
        `--${kind} is not supported in ${pathLabeller(io)(declared.file)}; VS Code supports --write and --net`,
    ),
  );
  const { home } = computerOf(io, io.cwd);
  let edit: SandboxEdit | undefined;
  if (data !== undefined && !isDry) await prepareData(data.known, { ...data, home });
  const { before, after } = await changeFile(cli, declared, isDry, (found) => {
    const variable = data && [...declared.at.slice(0, -1), "env", data.variable];
    const document = variable === undefined ? found : found.set(variable, data?.file);
    if (document === undefined) return undefined;
    const folder = dirname(declared.file);
    const place = {
      at: declared.at,
      places: declared.places,
      same: (kind: GrantKind, a: string, b: string): boolean =>
        kind === "read" || kind === "write"
          ? absolutePath(a, folder, home) === absolutePath(b, folder, home)
          : kind === "net"
            ? hostOf(a) === hostOf(b)
            : a === b,
    };
    // The paths of another client's file are relative to other folders.
    const written = (path: string): string =>
      declared.places === SANDBOX_PLACES ? writtenPath(path, folder, home) : path;
    const inFile: Grants = {
      ...wanted,
      read: wanted.read.map(written),
      write: wanted.write.map(written),
    };
    edit = (verb === "grant" ? grantIn : revokeIn)(document, place, inFile);
    if (verb === "revoke" && edit.changed.length === 0)
      throw notGranted(alias, edit, readGrants(document, place));
    return edit.document;
  });
  const { changed = [], unchanged = [] } = edit ?? {};
  // Also without a change of the file: the running gateway may not have applied an earlier one yet.
  const applied = isDry ? undefined : await applyToGateways(cli, alias);
  const workspace = dirname(declared.file);
  const wide = (["read", "write"] as const).flatMap((access) =>
    wanted[access].flatMap((path) => wideGrant({ alias, access, path, home, workspace, isDry }) ?? []),
  );
  report({ alias, verb, declared, changed, unchanged, before, after, isDry, applied, wide }, cli);
  const own = argumentsNote(cli, verb, declared.server, [...wanted.read, ...wanted.write]);
  if (own !== undefined && changed.length > 0)
    cli.output.note(`${cli.output.noteColors.cyan("note")} ${own}`);
  const { elsewhere } = declared;
  if (elsewhere !== undefined) cli.output.note(cli.output.noteColors.yellow(elsewhere));
  return applied?.code ?? 0;
}

interface Report {
  readonly alias: string;
  readonly verb: Verb;
  readonly declared: Declared;
  readonly changed: readonly string[];
  readonly unchanged: readonly string[];
  readonly before: string;
  readonly after: string;
  readonly isDry: boolean;
  readonly applied: AppliedChange | undefined;
  /** Warnings about grants that show a server more than most servers need. */
  readonly wide: readonly { readonly message: string; readonly hint: string }[];
}

function report(
  { alias, verb, declared, changed, unchanged, before, after, isDry, applied, wide }: Report,
  { io, output }: Cli,
): void {
  const { file, copiedFrom, leftOut = [] } = declared;
  if (output.form === "json") {
    const written = !isDry && before !== after;
    const text = isDry ? { text: after } : {};
    output.json({
      file,
      server: alias,
      written,
      changed,
      unchanged,
      copiedFrom,
      notCopied: filled(leftOut),
      ...text,
      ...applied?.fields,
    });
    return;
  }
  const label = pathLabeller(io);
  // The folder of the file is written as a single full stop, which is hard to see before the full stop of the sentence.
  const shown = (grants: readonly string[]): string =>
    grants.map((grant) => grant.replace(/ \.$/, ` ${label(dirname(file))}`)).join(", ");
  if (leftOut.length > 0)
    output.note(`${output.noteColors.yellow("warning")} ${leftOutWarning(leftOut, label(file), isDry)}`);
  if (copiedFrom !== undefined)
    output.print(
      `${alias} is declared in ${label(copiedFrom)}, which has no sandbox settings for this server. Portolan ${isDry ? "would copy" : "copied"} the server to ${label(file)}, and ${isDry ? "use" : "uses"} the copy.`,
    );
  if (before !== after) output.print(`${label(file)}\n${describeDiff(before, after, output.colors)}`);
  if (changed.length > 0)
    output.print(
      `${isDry ? "Would be " : ""}${verb === "grant" ? "granted to" : "revoked from"} ${alias}: ${shown(changed)}.`.replace(
        /^./,
        (first) => first.toUpperCase(),
      ),
    );
  if (unchanged.length > 0)
    output.print(
      output.colors.dim(`${verb === "grant" ? "Already granted" : "Not granted"}: ${shown(unchanged)}.`),
    );
  if (verb === "grant" && changed.length > 0)
    for (const { message, hint } of wide)
      output.note(`${output.noteColors.yellow("warning")} ${message}. ${hint}`);
  applied?.print();
}

/** A new portolan.yaml replaces the files of the clients, so that a server that was not copied is no longer there. */
function leftOutWarning(names: readonly string[], file: string, isDry: boolean): string {
  const isOne = names.length === 1;
  const [list, them] = [names.join(", "), isOne ? "it" : "them"];
  const secrets = `because ${isOne ? "its config contains" : "their configs contain"} secrets in plain text`;
  const rule = `In this workspace, Portolan ${isDry ? "would then use" : "now uses"} only the servers of ${file}, and no longer the servers of other MCP clients.`;
  const lost = isDry
    ? `${list} would not be copied, ${secrets}, and would no longer be available here.`
    : `${list} ${isOne ? "was" : "were"} not copied, ${secrets}, and ${isOne ? "is" : "are"} no longer available here.`;
  return `${rule} ${lost} To add ${them}: portolan import --write --secrets vault`;
}

interface DataFolder {
  readonly known: KnownServer;
  readonly variable: string;
  readonly file: string;
}

/** The file for the data of a known server, in a folder that the user names. */
function dataFolder({ io }: Cli, server: ServerConfig, folder: string): DataFolder {
  const { alias, endpoint } = server;
  const known = knownServer(programWords(server));
  const { dataVariable: variable, dataFile = "data" } = known ?? {};
  const byHand = `Set the variable or argument of the server that names its data file, and grant the folder of that file: portolan grant ${shellWord(alias)} --write <folder>`;
  if (known === undefined || variable === undefined)
    throw new PortolanError(
      "USAGE",
      `--data does not apply to ${alias}: Portolan does not know which variable names the data file of this server.`,
      { hint: byHand },
    );
  const present = endpoint.transport === "stdio" ? endpoint.env?.[variable] : undefined;
  if (present !== undefined)
    throw new PortolanError(
      "USAGE",
      `${alias} keeps its data in ${present} already: ${variable} is set in its config.`,
      {
        hint: `To let the server write there, grant the folder of that file: portolan grant ${shellWord(alias)} --write ${isAbsolute(present) ? shellWord(dirname(present)) : "<folder>"}. To use another folder, remove ${variable} from the server at ${placeOf(server, io)}, and run this command again`,
      },
    );
  const { home } = computerOf(io, io.cwd);
  return { known, variable, file: join(absolutePath(folder, io.cwd, home), dataFile) };
}

/** Checks all values; a path must exist to be granted, because the server would not start without it. */
async function checkGrants(
  cli: Cli,
  verb: Verb,
  { read = [], write = [], net = [], env = [] }: GrantOptions,
  server: ServerConfig,
): Promise<Grants> {
  const { io } = cli;
  const problems: string[] = [];
  const known = knownServer(programWords(server));
  const { home } = computerOf(io, io.cwd);
  const paths = async (access: "read" | "write", written: readonly string[]): Promise<string[]> => {
    const flag = `--${access}`;
    const found: string[] = [];
    for (const text of written) {
      const path = absolutePath(text, io.cwd, home);
      if (verb === "grant" && flag === "--write" && path === "/")
        problems.push(
          "--write / is the whole file system, which no sandbox grants for writing; name a folder",
        );
      const refused = verb === "grant" ? await refusedPath(cli, access, path) : undefined;
      if (refused !== undefined) problems.push(`${flag} ${text} cannot be granted: ${refused}`);
      const stats = statSync(path, { throwIfNoEntry: false });
      const isFile = stats === undefined ? looksLikeFile(path) : stats.isFile();
      if (verb === "grant" && flag === "--write" && isFile && known?.writesBeside === true)
        problems.push(needsFolder(path, server, known, { io, home }));
      else if (verb === "grant" && stats === undefined)
        problems.push(`${flag} ${text} does not exist; create it first: ${creation(path)}`);
      found.push(path);
    }
    return found;
  };
  for (const name of env)
    if (!VARIABLE.test(name))
      problems.push(`--env ${JSON.stringify(name)} must be the name of a variable, without a value`);
  const grants = {
    read: await paths("read", read),
    write: await paths("write", write),
    net: networkOf(net, problems),
    env,
  };
  throwUsageErrors(problems.map((problem) => problem.replace("--allow-net", "--net")));
  return grants;
}

/** For a server that writes other files beside its data file, such as a copy that it renames. */
function needsFolder(
  path: string,
  server: ServerConfig,
  { package: name, dataVariable }: KnownServer,
  { io, home }: { readonly io: Cli["io"]; readonly home: string },
): string {
  const command = `portolan grant ${shellWord(server.alias)}`;
  const folder = dirname(path);
  const isMissing = statSync(folder, { throwIfNoEntry: false }) === undefined;
  const own =
    dataVariable === undefined
      ? ""
      : `. To give it a folder of its own, remove ${dataVariable} from the server at ${placeOf(server, io)}, and run: ${command} --data ${shellWord(join(home, basename(name)))}`;
  return `--write ${path} is not enough: ${basename(name)} writes other files beside its data file, such as a copy that replaces it. Grant the folder: ${isMissing ? `mkdir -p ${shellWord(folder)} && ` : ""}${command} --write ${shellWord(folder)}${own}`;
}

/** About a server that uses only the folders in its arguments, whatever its sandbox grants. */
function argumentsNote(
  { io }: Pick<Cli, "io">,
  verb: Verb,
  server: ServerConfig,
  paths: readonly string[],
): string | undefined {
  const words = programWords(server);
  const known = knownServer(words);
  if (known?.takesFolders !== true) return undefined;
  const { home } = computerOf(io, io.cwd);
  const folders = words.map((word) => absolutePath(word, dirname(server.origin.file), home));
  const isNamed = (path: string): boolean => folders.some((folder) => `${path}/`.startsWith(`${folder}/`));
  const found = paths.filter((path) => isNamed(path) === (verb === "revoke"));
  if (found.length === 0) return undefined;
  const list = found.map((path) => shellWord(path)).join(", ");
  const place = `the arguments of ${plainLine(server.alias, 60)} (${placeOf(server, io)})`;
  return verb === "grant"
    ? `${basename(known.package)} uses only the folders in its arguments: add ${list} to ${place}, too.`
    : `${list} is still in ${place}: remove it there, too.`;
}

/** The file and the line of its config. */
function placeOf({ origin }: ServerConfig, io: Cli["io"]): string {
  return `${pathLabeller(io)(origin.file)}:${origin.line}`;
}

function creation(path: string): string {
  const word = shellWord(path);
  if (!looksLikeFile(path)) return `mkdir -p ${word}`;
  const folder = dirname(path);
  const isMissing = statSync(folder, { throwIfNoEntry: false }) === undefined;
  return `${isMissing ? `mkdir -p ${shellWord(folder)} && ` : ""}touch ${word}`;
}

function hostOf(text: string): string {
  const parsed = parseNetworkRule(text);
  return parsed.ok ? parsed.rule.text : text;
}

function notGranted(alias: string, { unchanged }: SandboxEdit, has: Grants): PortolanError {
  const granted = KINDS.flatMap((kind) => has[kind].map((entry) => `--${kind} ${shellWord(entry)}`));
  return new PortolanError(
    "USAGE",
    `The config of ${alias} does not grant ${unchanged.join(", ")}, so there is nothing to revoke.`,
    {
      hint:
        granted.length === 0
          ? `The config of ${alias} grants nothing.`
          : `The config of ${alias} grants: ${granted.join(" ")}`,
    },
  );
}
