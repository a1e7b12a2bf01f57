// `portolan export`: prints the workspace's servers in the format of another client, or merges them into its config file.

import { resolve } from "node:path";
import { noServers, PortolanError, unknownServer } from "../../errors/index.ts";
import {
  type ClientId,
  CLIENTS,
  type Computer,
  type ExportNote,
  renderFor,
} from "../../formats/clients/index.ts";
import type { ServerConfig } from "../../model/index.ts";
import { parseClient } from "../arguments/client-names.ts";
import type { Cli } from "../context.ts";
import { plainLine, plainText } from "../terminal/safe-text.ts";
import { checkScope, usualFile } from "../workspace/client-file.ts";
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
  throw new PortolanError("USAGE", "No client was given.", {
    hint: `Name the client: --for <client>. Supported clients: ${Object.keys(CLIENTS).join(", ")}.`,
  });
}

function chooseServers(
  servers: readonly ServerConfig[],
  aliases: readonly string[],
  folder: string,
): readonly ServerConfig[] {
  if (servers.length === 0) throw noServers(folder);
  if (aliases.length === 0) return servers;
  const known = servers.map(({ alias }) => alias);
  const unknown = aliases.find((alias) => !known.includes(alias));
  if (unknown !== undefined) throw unknownServer(unknown, known);
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

async function chooseFile(client: ClientId, options: PlaceOptions): Promise<string> {
  const { write, cwd, known } = options;
  const scope = checkScope(options.scope);
  if (typeof write !== "string") return usualFile(client, scope, options.computer, "--write <file>");
  if (scope !== undefined)
    throw new PortolanError("USAGE", "--scope cannot be used when --write names a file.", {
      hint: "Leave out --scope, or the file after --write.",
    });
  if (known.has(write))
    throw new PortolanError("USAGE", `${JSON.stringify(write)} is a server, but --write takes a file.`, {
      hint: `Put --write last: portolan export --for ${client} ${write} --write. For a file of that name: --write ./${write}`,
    });
  return resolve(cwd, write);
}
