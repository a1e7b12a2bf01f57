// `portolan export`: prints the workspace's servers in the format of another client, or merges them into its config file.

import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { didYouMean, PortolanError } from "../../errors/index.ts";
import {
  type ClientId,
  CLIENTS,
  type Computer,
  type ExportNote,
  findClientFiles,
  renderFor,
  type Scope,
} from "../../formats/clients/index.ts";
import type { ServerConfig } from "../../model/index.ts";
import { parseClient } from "../arguments/client-names.ts";
import type { Cli } from "../context.ts";
import { plainLine, plainText } from "../terminal/safe-text.ts";
import { computerOf, findWorkspace, type WorkspaceOptions } from "../workspace/folder.ts";
import { describeMerge, mergeServers } from "./merge.ts";

export interface ExportCommandOptions extends WorkspaceOptions {
  for?: string;
  /** True means the client's usual file. */
  write?: string | boolean;
  scope?: string;
  json?: boolean;
}

export async function exportServers(
  cli: Cli,
  aliases: readonly string[],
  options: ExportCommandOptions,
): Promise<number> {
  const { io, output } = cli;
  const client = chooseClient(options.for);
  const { path, folder } = await findWorkspace(io, options);
  const computer = computerOf(io, folder);
  const catalog = await io.loadCatalog(path, { home: computer.home });
  for (const { severity, message, file, line } of catalog.diagnostics)
    if (severity === "error")
      output.note(
        `${output.noteColors.yellow("warning")} ${plainLine(`${file ?? ""}:${line ?? 1} ${message}`, 500)}`,
      );
  const servers = chooseServers(catalog.servers, aliases, folder);
  if (options.write === undefined) {
    if (options.scope !== undefined)
      throw new PortolanError("USAGE", "--scope needs --write.", {
        hint: "Add --write, or leave --scope out.",
      });
    const { text, notes } = renderFor(client, servers);
    // Redirected output is the config file itself; only --json wraps it in JSON.
    if (options.json === true) output.json({ client, format: CLIENTS[client].format, text, notes });
    else output.print(io.stdout.isTTY === true ? plainText(text) : text);
    noteLosses(notes, cli);
    return 0;
  }
  const known = new Set(catalog.servers.map(({ alias }) => alias));
  const file = await chooseFile(client, {
    write: options.write,
    scope: options.scope,
    computer,
    cwd: io.cwd,
    known,
  });
  const merged = await mergeServers(client, file, servers, { ...computer, cwd: folder });
  if (output.form === "json") output.json(merged);
  else output.print(describeMerge(merged, { ...output, computer: { ...computer, cwd: io.cwd } }));
  noteLosses(merged.notes, cli);
  return 0;
}

function chooseClient(name: string | undefined): ClientId {
  if (name !== undefined) return parseClient(name);
  throw new PortolanError("USAGE", "No client is given.", {
    hint: `Say for which one: --for ${Object.keys(CLIENTS).join(", ")}.`,
  });
}

function chooseServers(
  servers: readonly ServerConfig[],
  aliases: readonly string[],
  folder: string,
): readonly ServerConfig[] {
  if (servers.length === 0)
    throw new PortolanError("SERVER_UNKNOWN", `There are no servers in the workspace ${folder}.`, {
      hint: "Add some: portolan import --write, or write them into portolan.yaml.",
    });
  if (aliases.length === 0) return servers;
  const known = servers.map(({ alias }) => alias);
  const unknown = aliases.filter((alias) => !known.includes(alias));
  if (unknown.length > 0) {
    const names = unknown.map((alias) => JSON.stringify(alias)).join(", ");
    const guess = didYouMean(unknown[0] ?? "", known);
    const list = known.length > 30 ? `${known.slice(0, 30).join(", ")}, …` : known.join(", ");
    throw new PortolanError("SERVER_UNKNOWN", `There is no server ${names} in the workspace ${folder}.`, {
      hint: `${guess === undefined ? "" : `${guess} `}It has ${list}.`,
      data: { unknown, known },
    });
  }
  return servers.filter(({ alias }) => aliases.includes(alias));
}

function noteLosses(notes: readonly ExportNote[], { output }: Cli): void {
  for (const { server, message } of notes)
    output.note(`${output.noteColors.yellow("note")} ${plainLine(server, 100)}: ${plainLine(message, 500)}`);
}

interface PlaceOptions {
  /** A path, or true for the usual file. */
  readonly write: string | boolean;
  readonly scope: string | undefined;
  readonly computer: Computer;
  readonly cwd: string;
  /** Aliases of the workspace, to detect an alias in the place of a file. */
  readonly known: ReadonlySet<string>;
}

const SCOPES: readonly Scope[] = ["user", "project"];

async function chooseFile(client: ClientId, options: PlaceOptions): Promise<string> {
  const { write, cwd, known } = options;
  const scope = checkScope(options.scope);
  if (typeof write !== "string") return usualFile(client, scope, options.computer);
  if (scope !== undefined)
    throw new PortolanError("USAGE", "--scope chooses the usual file, and --write names another.", {
      hint: "Leave out one of them.",
    });
  if (known.has(write))
    throw new PortolanError("USAGE", `${JSON.stringify(write)} is a server, but --write takes a file.`, {
      hint: `Put --write last: portolan export --for ${client} ${write} --write. For a file of that name: --write ./${write}`,
    });
  return resolve(cwd, write);
}

/** An existing file, else the first usual path whose folder exists, else the first path. Paths with `*` are never guessed. */
async function usualFile(client: ClientId, wanted: Scope | undefined, computer: Computer): Promise<string> {
  const info = CLIENTS[client];
  const places = info.places(computer);
  const scope = wanted ?? (places.some((place) => place.scope === "user") ? "user" : "project");
  const [found] = (await findClientFiles(computer)).filter(
    (one) => one.client === client && one.scope === scope,
  );
  if (found !== undefined && (scope === "user" || dirname(found.file).startsWith(computer.cwd)))
    return found.file;
  const files = places
    .filter((place) => place.scope === scope && !place.file.includes("*"))
    .map(({ file }) => file);
  for (const file of files) if (await isFolder(dirname(file))) return file;
  const [first] = files;
  if (first !== undefined) return first;
  throw new PortolanError("USAGE", `${info.title} has no file of the ${scope}.`, {
    hint: `Name a file: --write <file>, or --scope ${scope === "user" ? "project" : "user"}.`,
  });
}

function checkScope(scope: string | undefined): Scope | undefined {
  if (scope === undefined || (SCOPES as readonly string[]).includes(scope)) return scope as Scope | undefined;
  throw new PortolanError("USAGE", `--scope must be user or project, got ${JSON.stringify(scope)}.`, {
    hint: didYouMean(scope, SCOPES),
  });
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
