// `portolan author`: a driver made of an MCP server, with the contracts that it serves.

import { resolve } from "node:path";
import { isPortolanError, PortolanError } from "../../errors/index.ts";
import type { LaunchSettings } from "../../model/index.ts";
import type { McpConnection } from "../../tools/index.ts";
import { agrees, askId, idOf, prompterOf } from "../author/ask.ts";
import { chooseByAsking, chooseByFlags, type Choice, TurnedAway } from "../author/choose.ts";
import { withCredentials } from "../author/credentials.ts";
import { draftDriver } from "../author/draft.ts";
import { existingContracts } from "../author/existing-contracts.ts";
import { propose } from "../author/files.ts";
import { ungranted } from "../author/grants.ts";
import { driverFolder, type Identified, identify, within } from "../author/identify.ts";
import { type Sample, sampleTool } from "../author/sample.ts";
import { describeDraft, draftJson } from "../author/view.ts";
import { type Cli, createHandlers, noteDiagnostic, spinnerOf, type Words } from "../connect.ts";
import { plainLine } from "../plain-text.ts";
import { sandboxOfCommand } from "../sandbox-of-command.ts";
import { toConfig } from "../server-config.ts";
import type { Spinner } from "../spinner.ts";
import { findWorkspace } from "../workspace-folder.ts";

export interface AuthorOptions {
  kind?: string;
  id?: string;
  tools?: string[];
  sample?: boolean;
  yes?: boolean;
  dryRun?: boolean;
  env?: string[];
}

export async function author(cli: Cli, words: Words, options: AuthorOptions): Promise<number> {
  const { io, output, interrupt } = cli;
  const { workspace } = cli.options;
  const { folder } = await findWorkspace(io, workspace === undefined ? {} : { workspace });
  const home = (name: string): string => driverFolder(folder, idOf(name, options.id));
  const identified = identify(words, options.kind, { folder, home }, cli);
  const prompter = options.yes === true ? undefined : prompterOf(cli);
  const contracts = await existingContracts(folder);
  const dryRun = options.dryRun === true;
  try {
    const found = await withStarted(cli, identified, folder, async (connection, spinner) => {
      spinner.start("listing the tools");
      const tools = await connection.listToolDefinitions({ signal: interrupt.signal });
      spinner.stop();
      if (tools.length === 0)
        throw new PortolanError(
          "CAPABILITY_MISSING",
          `${identified.name} has no tools, so that there is nothing to serve.`,
        );
      const asked = prompter === undefined ? undefined : await prompter();
      const name = nameOf(connection, identified);
      const id = idOf(name, options.id ?? (await askId(name, asked, interrupt.signal)));
      const wanted = options.tools?.flatMap((text) => text.split(",")).filter((word) => word !== "");
      const choices =
        asked === undefined || wanted !== undefined
          ? chooseByFlags(tools, contracts, wanted)
          : await chooseByAsking(tools, contracts, asked, interrupt.signal);
      const samples =
        options.sample === true
          ? await sampleAll(choices, connection, identified, folder, { cli, spinner })
          : new Map();
      return {
        id,
        tools,
        choices,
        samples,
        title: titleOf(connection, identified),
        transport: transportOf(connection, identified),
      };
    });
    const { id, transport } = found;
    const draft = draftDriver({
      ...found,
      folder,
      contracts,
      identified: { ...identified, transport },
      credentials: withCredentials(identified.server, id.replace(/-mcp$/, ""), options.env ?? [], cli),
      launch: launchOf(cli, folder, id),
    });
    const errors = draft.diagnostics.filter(({ severity }) => severity === "error");
    const write =
      errors.length === 0 && !dryRun && (await agrees(prompter, draft.files.length, interrupt.signal));
    const files = await propose(draft.files, folder, !write);
    const shown = { ...draft, id, files, identified: { ...identified, transport }, written: write, dryRun };
    if (output.form === "json") output.json(draftJson(shown));
    else output.print(describeDraft(shown, cli));
    return errors.length === 0 ? 0 : 1;
  } catch (thrown) {
    if (!(thrown instanceof TurnedAway)) throw thrown;
    throw new PortolanError("CANCELLED", "Nothing was written.");
  }
}

/** Connects as the driver will, and closes again, whatever happens. */
async function withStarted<T>(
  cli: Cli,
  identified: Identified,
  folder: string,
  use: (connection: McpConnection, spinner: Spinner) => Promise<T>,
): Promise<T> {
  const { io, output, interrupt } = cli;
  const { target } = identified;
  const spinner = spinnerOf(cli);
  // Its words are relative to the workspace, as they will be later.
  const options = folder === io.cwd ? cli.options : { ...cli.options, cwd: folder };
  const config = toConfig(target, target.kind === "url" ? cli.options : options, io.cwd, {
    handlers: createHandlers(cli, target.label, spinner, false),
    signal: interrupt.signal,
    onDiagnostic: (diagnostic) => noteDiagnostic(diagnostic, cli),
  });
  output.around(spinner);
  let connection: McpConnection | undefined;
  try {
    spinner.start(`starting ${plainLine(target.label, 60)}`);
    connection = await io.connect(config).catch((thrown: unknown) => {
      throw withGrants(thrown, identified, folder, cli);
    });
    return await use(connection, spinner);
  } finally {
    spinner.stop();
    output.around(undefined);
    await connection?.close().catch(() => {});
  }
}

/** A server that does not start often misses a folder that it was told of. */
function withGrants(thrown: unknown, { server }: Identified, folder: string, { io, options }: Cli): unknown {
  if (!isPortolanError(thrown) || thrown.code !== "SERVER_START_FAILED" || server.kind === "remote")
    return thrown;
  const { read, write, mode } = options.sandbox;
  const granted = [...read, ...write].map((path) => resolve(io.cwd, path));
  const [word] = mode === "off" ? [] : ungranted(server.args, folder, granted);
  if (word === undefined) return thrown;
  const { message, code, stderr } = thrown;
  const hint = `It is started with the folder ${word}, which its sandbox does not have. Grant it: --allow-read ${word}, or --allow-write ${word}`;
  return new PortolanError(code, message, { stderr, hint, server: thrown.server, cause: thrown });
}

async function sampleAll(
  choices: readonly Choice[],
  connection: McpConnection,
  { server }: Identified,
  folder: string,
  { cli, spinner }: { readonly cli: Cli; readonly spinner: Spinner },
): Promise<ReadonlyMap<string, Sample>> {
  const samples = new Map<string, Sample>();
  const args = server.kind === "remote" ? [] : server.args;
  for (const { tool, bound } of choices) {
    if (bound !== undefined) continue;
    spinner.start(`trying ${tool.name}`);
    const sample = await sampleTool(tool, connection, { args, folder, signal: cli.interrupt.signal });
    if (sample !== undefined) samples.set(tool.name, sample);
  }
  spinner.stop();
  return samples;
}

/** What was granted for this start, as the driver asks for it. */
function launchOf({ options, io }: Cli, folder: string, id: string): LaunchSettings {
  const { network, read, write } = options.sandbox;
  const found = sandboxOfCommand({ modes: {}, network, read, write }, io.cwd, []);
  const own = (paths: readonly string[] | undefined): string[] | undefined =>
    paths?.map((path) => within(resolve(io.cwd, path), driverFolder(folder, id), folder));
  const [readable, writable] = [own(found?.fs?.read), own(found?.fs?.write)];
  const fs = {
    ...(readable === undefined ? {} : { read: readable }),
    ...(writable === undefined ? {} : { write: writable }),
  };
  const sandbox = {
    ...(found?.network === undefined ? {} : { network: found.network }),
    ...(Object.keys(fs).length === 0 ? {} : { fs }),
  };
  return Object.keys(sandbox).length === 0 ? {} : { sandbox };
}

function titleOf({ server }: McpConnection, { name }: Identified): string {
  const info = server.info as { title?: unknown; name?: unknown } | undefined;
  const said = [info?.title, info?.name].find((text) => typeof text === "string" && text.trim() !== "");
  return plainLine(said ?? name, 80) || name;
}

/** A file called index.js, or an address, says nothing: then it is what the server calls itself. */
function nameOf({ server }: McpConnection, { name }: Identified): string {
  const said = server.info?.name;
  if (!/^(?:index|main|server|app|cli|start|localhost|\d+)$/i.test(name) || typeof said !== "string")
    return name;
  const short = plainLine(said, 60)
    .replace(/^.*\//, "")
    .replace(/^(?:mcp-server|server|mcp)-/i, "")
    .replace(/[-_](?:mcp-server|server|mcp)$/i, "");
  return /[a-z0-9]/i.test(short) ? short : name;
}

/** What was asked for may have led to the older one. */
function transportOf({ server }: McpConnection, { transport }: Identified): Identified["transport"] {
  return transport === "http" && server.transport === "sse" ? "sse" : transport;
}
