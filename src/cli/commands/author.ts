// `portolan author`: a driver made of an MCP server, with the contracts that it serves.

import { resolve } from "node:path";
import { PortolanError } from "../../errors/index.ts";
import type { LaunchSettings } from "../../model/index.ts";
import type { McpConnection } from "../../tools/index.ts";
import { chooseByAsking, chooseByFlags, type Choice, TurnedAway } from "../author/choose.ts";
import { withCredentials } from "../author/credentials.ts";
import { draftDriver } from "../author/draft.ts";
import { existingContracts } from "../author/existing-contracts.ts";
import { propose } from "../author/files.ts";
import { driverFolder, type Identified, identify, within } from "../author/identify.ts";
import { type Sample, sampleTool } from "../author/sample.ts";
import { describeDraft, draftJson } from "../author/view.ts";
import { type Cli, createHandlers, noteDiagnostic, spinnerOf, type Words } from "../connect.ts";
import type { Prompter } from "../elicit.ts";
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

const ID = /^[a-z0-9][a-z0-9.-]{1,79}$/;

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
      const id = idOf(identified.name, options.id ?? (await askId(identified.name, asked, interrupt.signal)));
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
    const files = await propose(draft.files, !write);
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
  { target }: Identified,
  folder: string,
  use: (connection: McpConnection, spinner: Spinner) => Promise<T>,
): Promise<T> {
  const { io, output, interrupt } = cli;
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
    connection = await io.connect(config);
    return await use(connection, spinner);
  } finally {
    spinner.stop();
    output.around(undefined);
    await connection?.close().catch(() => {});
  }
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

function idOf(name: string, given: string | undefined): string {
  if (given !== undefined && !ID.test(given))
    throw new PortolanError("USAGE", `--id ${JSON.stringify(given)} is not an id.`, {
      hint: "Small letters, digits, dots and dashes, for example filesystem-mcp.",
    });
  const plain =
    name
      .toLowerCase()
      .replace(/[^a-z0-9.]+/g, "-")
      .replace(/^[-.]+|[-.]+$/g, "") || "server";
  return given ?? `${plain.replace(/-mcp$/, "")}-mcp`;
}

async function askId(
  name: string,
  prompter: Prompter | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (prompter === undefined) return undefined;
  const answer = await prompter.text({
    message: "What is the driver's id?",
    initial: idOf(name, undefined),
    check: (text) => (ID.test(text) ? undefined : "Small letters, digits, dots and dashes."),
    signal,
  });
  if (answer === undefined) throw new TurnedAway();
  return answer;
}

async function agrees(
  prompter: (() => Promise<Prompter>) | undefined,
  count: number,
  signal: AbortSignal,
): Promise<boolean> {
  if (prompter === undefined) return true;
  const answer = await (
    await prompter()
  ).select({
    message: `Write ${count} ${count === 1 ? "file" : "files"}?`,
    options: [
      { value: "yes", label: "yes; what is there and differs stays as it is" },
      { value: "no", label: "no, only show them" },
    ],
    initial: "yes",
    signal,
  });
  if (answer === undefined) throw new TurnedAway();
  return answer === "yes";
}

function prompterOf({ io, output, options }: Cli): (() => Promise<Prompter>) | undefined {
  const interactive =
    options.input && io.stdin.isTTY === true && io.stderr.isTTY === true && output.form === "text";
  return interactive ? () => io.createPrompter(output.noteColors.enabled) : undefined;
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

/** What was asked for may have led to the older one. */
function transportOf({ server }: McpConnection, { transport }: Identified): Identified["transport"] {
  return transport === "http" && server.transport === "sse" ? "sse" : transport;
}
