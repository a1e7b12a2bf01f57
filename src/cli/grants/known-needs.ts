// Needs of a known server that no argument shows: a data file that is not set, hosts. Asked on a terminal, noted elsewhere;
// nothing is granted without an answer.

import { existsSync, statSync } from "node:fs";
import { copyFile, mkdir, readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import { PortolanError } from "../../errors/index.ts";
import {
  dataFileAdvice,
  type KnownServer,
  knownServer,
  programWords,
  type NamedHost,
  type ServerConfig,
  unsetDataFile,
} from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { computerOf, pathLabeller } from "../workspace/folder.ts";

export interface KnownNeeds {
  readonly env: Readonly<Record<string, string>>;
  readonly write: readonly string[];
  readonly network: readonly string[];
  /** Creates the data folder. Called when the server is written. */
  readonly prepare?: () => Promise<void>;
}

export const NO_NEEDS: KnownNeeds = { env: {}, write: [], network: [] };

interface NeedsRequest {
  readonly server: ServerConfig;
  readonly known: KnownServer | undefined;
  readonly canAsk: boolean;
  /** False if the caller reports what stays open by itself. */
  readonly notes?: boolean;
}

export async function chooseKnownNeeds(cli: Cli, request: NeedsRequest): Promise<KnownNeeds> {
  const { server, known, canAsk } = request;
  if (known === undefined || server.launch?.sandbox?.mode === "off") return NO_NEEDS;
  const data = dataNeed(cli, server, known);
  const hosts = missingHosts(server, known);
  if (!canAsk) {
    if (request.notes === false) return NO_NEEDS;
    // The server is in no config file yet.
    for (const hint of await needHints(cli, server, undefined))
      cli.output.note(`${cli.output.noteColors.cyan("note")} ${known.package}: ${hint}`);
    return NO_NEEDS;
  }
  const kept = data !== undefined && (await askData(cli, server.alias, known, data));
  const network = hosts.length > 0 && (await askHosts(cli, server.alias, known, hosts)) ? hosts : [];
  if (!kept) return { ...NO_NEEDS, network };
  const { variable, file } = data;
  const folder = dirname(file);
  return { env: { [variable]: file }, write: [folder], network, prepare: () => prepareData(known, data) };
}

interface DataNeed {
  readonly variable: string;
  /** The file that Portolan suggests. */
  readonly file: string;
  readonly home: string;
}

function dataNeed({ io }: Cli, server: ServerConfig, known: KnownServer): DataNeed | undefined {
  const { home } = computerOf(io, io.cwd);
  const data = unsetDataFile(server, known, home);
  return data && { ...data, home };
}

/** The hosts of a known server that its config does not grant. */
function missingHosts({ launch }: ServerConfig, known: KnownServer | undefined): readonly string[] {
  const { hosts = [] } = known ?? {};
  const granted = launch?.sandbox?.network ?? [];
  return hosts.filter((host) => !granted.includes(host) && !granted.includes("*"));
}

async function askData(cli: Cli, alias: string, known: KnownServer, data: DataNeed): Promise<boolean> {
  const label = pathLabeller(cli.io);
  const old = await oldData(known, data.home);
  const content = existsSync(data.file)
    ? ", which exists already"
    : old === undefined
      ? " (a new file: no existing data was found)"
      : `, with a copy of its present data (${label(old)})`;
  return askYesNo(cli, {
    message: `${namedServer(alias, known)} writes its data into its own program folder, which is read-only in the sandbox. Store the data:`,
    yes: `in ${label(data.file)}${content}`,
    no: "nowhere; tools that write data will fail",
  });
}

async function askHosts(
  cli: Cli,
  alias: string,
  known: KnownServer,
  hosts: readonly string[],
): Promise<boolean> {
  return askYesNo(cli, {
    message: `${namedServer(alias, known)} connects to ${hostsLabel(hosts)}. May it connect?`,
    yes: "yes",
    no: "no; tools that need this connection will fail",
  });
}

export async function askYesNo(
  cli: Cli,
  { message, yes, no }: { readonly message: string; readonly yes: string; readonly no: string },
): Promise<boolean> {
  const prompter = await cli.io.createPrompter(cli.output.noteColors.enabled);
  const answer = await prompter.select({
    message,
    options: [
      { value: "yes", label: yes },
      { value: "no", label: no },
    ],
    initial: "yes",
    signal: cli.interrupt.signal,
  });
  if (answer === undefined)
    throw new PortolanError("CANCELLED", "Cancelled. Nothing was changed.", { hint: "" });
  return answer === "yes";
}

/** Two servers of a workspace can run the same package. */
function namedServer(alias: string, { package: name }: KnownServer): string {
  return `${plainLine(alias, 80)} (${plainLine(basename(name), 80)})`;
}

function hostsLabel(hosts: readonly string[]): string {
  return hosts.includes("*") ? "any host that a call names" : hosts.join(", ");
}

/** Creates the folder of the data file, with a copy of the data that the server has kept elsewhere. */
export async function prepareData(known: KnownServer, { file, home }: DataNeed): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const old = await oldData(known, home);
  if (old !== undefined && !existsSync(file)) await copyFile(old, file);
}

/** The command that copies the data of a copy that npx ran before; undefined if there is none, or if there is new data. */
async function copyDataCommand(
  { io }: Pick<Cli, "io">,
  server: ServerConfig,
  known: KnownServer | undefined,
): Promise<string | undefined> {
  const { home } = computerOf(io, io.cwd);
  const data = known && unsetDataFile(server, known, home);
  if (data === undefined || existsSync(data.file)) return undefined;
  const old = await oldData(known as KnownServer, home);
  return old && `cp ${shellWord(old)} ${shellWord(data.file)}`;
}

/** The newest data file of a copy that npx ran before. */
async function oldData(
  { package: name, dataDefault }: KnownServer,
  home: string,
): Promise<string | undefined> {
  if (dataDefault === undefined) return undefined;
  const cache = join(home, ".npm", "_npx");
  const copies = await readdir(cache).catch(() => []);
  const files = copies
    .map((copy) => join(cache, copy, "node_modules", name, dataDefault))
    .flatMap((file) => {
      const found = statSync(file, { throwIfNoEntry: false });
      return found?.isFile() === true ? [{ file, at: found.mtimeMs }] : [];
    });
  return files.toSorted((a, b) => b.at - a.at)[0]?.file;
}

/**
 * How a known server gets what its arguments do not show, and any server the hosts that they name. `command` is the one that grants
 * more to it.
 */
export async function needHints(
  { io }: Pick<Cli, "io">,
  server: ServerConfig,
  command: string | undefined,
  named: readonly NamedHost[] = [],
): Promise<string[]> {
  const known = knownServer(programWords(server));
  const { home } = computerOf(io, io.cwd);
  const data = dataFileAdvice(server, home, command);
  // `grant --data` copies present data by itself.
  const copy = command === undefined ? await copyDataCommand({ io }, server, known) : undefined;
  const hosts = missingHosts(server, known);
  const [how, option] = command === undefined ? ["", "--allow-net"] : [`${command} `, "--net"];
  return [
    ...(data === undefined
      ? []
      : [`${data.hint}${copy === undefined ? "" : `. To keep the present data of the server: ${copy}`}`]),
    ...(hosts.length === 0
      ? []
      : [
          `To let the server reach ${hostsLabel(hosts)}: ${how}${hosts.map((host) => `${option} ${shellWord(host)}`).join(" ")}`,
        ]),
    ...named
      .filter(({ rule }) => !hosts.includes(rule))
      .map(
        ({ rule, where }) =>
          `To let the server reach ${rule}, which it is started with (${where}): ${how}${option} ${shellWord(rule)}`,
      ),
  ];
}
