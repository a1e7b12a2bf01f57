// `portolan author`: writes a driver for an MCP server, and the contracts that it serves.

import { join, resolve } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import type { McpConnection } from "../../client/index.ts";
import { isPortolanError, PortolanError } from "../../errors/index.ts";
import type { LaunchSettings } from "../../model/index.ts";
import type { Cli, Words } from "../context.ts";
import { createHandlers } from "../input/handlers.ts";
import { sandboxOfCommand } from "../options/sandbox.ts";
import { noteDiagnostic } from "../output/diagnostic.ts";
import { withSpinner } from "../output/progress.ts";
import { toConfig } from "../target/server-config.ts";
import { plainLine } from "../terminal/safe-text.ts";
import type { Spinner } from "../terminal/spinner.ts";
import { findWorkspace } from "../workspace/folder.ts";
import { agrees, askId, chooseByAsking, chooseByFlags, idOf, prompterOf, PromptCancelled } from "./choose.ts";
import { withCredentials } from "./credentials.ts";
import { draftDriver } from "./draft.ts";
import {
  existingContracts,
  existingDriver,
  existingSecrets,
  newErrors,
  SecretNames,
  wholeWorkspace,
} from "./existing.ts";
import { propose, withdraw } from "./files.ts";
import { ownWriteNote, ownWriteOf, ungranted } from "./folders.ts";
import { driverFolder, type Identified, identify, within } from "./identify.ts";
import { keptBindings, NOTHING_KEPT } from "./kept-bindings.ts";
import { sampleAll, sampleTool } from "./sample.ts";
import { listSurfaces, proposeSurfaces } from "./surfaces.ts";
import { withNoticedOptions } from "../grants/notice.ts";
import { describeDraft, draftJson } from "./view.ts";

export interface AuthorOptions {
  kind?: string;
  id?: string;
  tools?: string[];
  sample?: boolean;
  yes?: boolean;
  dryRun?: boolean;
}

export async function author(given: Cli, words: Words, options: AuthorOptions): Promise<number> {
  const { io, output, interrupt } = given;
  const { workspace } = given.options;
  const { folder } = await findWorkspace(io, { workspace });
  const identified = identify(words, options.kind, folder, given);
  const stdinTaken = options.yes === true;
  const cli = await withNoticedOptions(given, identified.target, { stdinTaken, folder });
  const prompter = options.yes === true ? undefined : prompterOf(cli);
  const before = await wholeWorkspace(folder, cli);
  const dryRun = options.dryRun === true;
  try {
    const found = await withStarted(cli, identified, folder, async (connection, spinner) => {
      spinner.start("listing the tools");
      const tools = await connection.listToolDefinitions({ signal: interrupt.signal });
      spinner.stop();
      if (tools.length === 0)
        throw new PortolanError(
          "CAPABILITY_MISSING",
          `The server ${identified.name} has no tools, so no driver was written.`,
          {
            hint: "Some servers list their tools only if they get the right arguments and credentials. Run the command again with arguments after --, or with --env or --header.",
          },
        );
      const asked = prompter === undefined ? undefined : await prompter();
      const name = nameOf(connection, identified);
      const id = idOf(name, options.id ?? (await askId(name, asked, interrupt.signal)));
      const existing = await existingDriver(folder, id);
      const contracts = await existingContracts(folder, existing);
      const kept = existing === undefined ? NOTHING_KEPT : keptBindings(existing, contracts, tools, folder);
      const wanted = options.tools?.flatMap((text) => text.split(",")).filter((word) => word !== "");
      const chosen =
        asked === undefined || wanted !== undefined
          ? chooseByFlags(tools, contracts, wanted, kept)
          : await chooseByAsking(tools, contracts, asked, interrupt.signal, kept);
      const args = identified.server.kind === "remote" ? [] : identified.server.args;
      const sampled =
        options.sample === true
          ? await sampleAll(chosen, async (tool) => {
              spinner.start(`trying ${tool.name}`);
              return sampleTool(tool, connection, { args, folder, signal: interrupt.signal });
            })
          : { choices: chosen, samples: new Map<string, never>() };
      spinner.start("listing the prompts and resources");
      const listed = await listSurfaces(connection, interrupt.signal);
      return {
        ...{ id, tools, existing, contracts, ...sampled },
        surfaces: proposeSurfaces(listed, id.replace(/-mcp$/, ""), before.refKinds),
        ended: wanted === undefined ? kept.notes : [],
        title: titleOf(connection, identified),
        transport: transportOf(connection, identified),
      };
    });
    const { id, transport } = found;
    const secrets = await existingSecrets(folder, id, before.secrets);
    const base = id.replace(/-mcp$/, "");
    const draft = draftDriver({
      ...found,
      folder,
      identified: { ...identified, transport },
      credentials: (served) =>
        withCredentials(identified.server, base, new SecretNames(secrets, id, served), cli),
      launch: launchOf(cli, identified, folder, id),
    });
    const errors = draft.diagnostics.filter(({ severity }) => severity === "error");
    const write =
      errors.length === 0 && !dryRun && (await agrees(prompter, draft.files.length, interrupt.signal));
    const leader = join(driverFolder(folder, id), "DRIVER.md");
    const files = await propose(draft.files, folder, !write, leader);
    // Files that are valid alone may still conflict with the rest of the workspace.
    const clashes = write ? newErrors(before, await wholeWorkspace(folder, cli)) : [];
    if (clashes.length > 0) await withdraw(files, folder);
    const shown = {
      ...draft,
      ...{ id, files },
      diagnostics: [...draft.diagnostics, ...clashes],
      left: [
        ...found.ended,
        ...draft.left,
        ...(await ownFolderNotes(identified, folder, cli)),
        ...modeNotes(cli.options, id),
      ],
      identified: { ...identified, transport },
      written: write && clashes.length === 0,
      clashes: clashes.length > 0,
    };
    if (output.form === "json") output.json(draftJson(shown));
    else output.print(describeDraft(shown, cli));
    return errors.length + clashes.length === 0 ? 0 : 1;
  } catch (thrown) {
    if (!(thrown instanceof PromptCancelled)) throw thrown;
    throw new PortolanError("CANCELLED", "Cancelled. Nothing was written.", { hint: "" });
  }
}

/** Connects to the server as the driver will, runs `use`, and closes the connection in any case. */
async function withStarted<T>(
  cli: Cli,
  identified: Identified,
  folder: string,
  use: (connection: McpConnection, spinner: Spinner) => Promise<T>,
): Promise<T> {
  const { io, interrupt } = cli;
  const { target } = identified;
  // Relative paths in the command start at the workspace, as they will for the driver.
  const options = folder === io.cwd ? cli.options : { ...cli.options, cwd: folder };
  return withSpinner(cli, async (spinner) => {
    const config = toConfig(target, target.kind === "url" ? cli.options : options, io.cwd, {
      handlers: createHandlers(cli, target.label, spinner, false),
      signal: interrupt.signal,
      onDiagnostic: (diagnostic) => noteDiagnostic(diagnostic, cli),
    });
    spinner.start(`starting ${plainLine(target.label, 60)}`);
    const connection = await io.connect(config).catch((thrown: unknown) => {
      throw withGrants(thrown, identified, folder, cli);
    });
    try {
      return await use(connection, spinner);
    } finally {
      spinner.stop();
      await connection.close().catch(() => {});
    }
  });
}

/** A server that fails to start often needs a folder that is one of its arguments. */
function withGrants(thrown: unknown, { server }: Identified, folder: string, { io, options }: Cli): unknown {
  if (!isPortolanError(thrown) || server.kind === "remote") return thrown;
  const { read, write, mode } = options.sandbox;
  const granted = [...read, ...write].map((path) => resolve(io.cwd, path));
  const failed = thrown.code === "SERVER_START_FAILED" && mode !== "off";
  const [word] = failed ? ungranted(server.args, folder, granted) : [];
  if (word === undefined) return thrown;
  // The word is relative to the workspace, and the options are relative to the current folder.
  const path = shellWord(resolve(folder, word));
  const hint = `The server gets the folder ${word} as an argument, but the sandbox of the server hides this folder. Run the command again with --allow-read ${path} or --allow-write ${path}`;
  const { message, code, stderr, data } = thrown;
  return new PortolanError(code, message, { stderr, data, hint, server: thrown.server, cause: thrown });
}

/** Notes about files that the server would write outside of its sandbox; empty when that cannot be found out. */
async function ownFolderNotes({ target, name }: Identified, folder: string, cli: Cli): Promise<string[]> {
  if (target.kind !== "command") return [];
  const { command, args } = target;
  const { planLaunch } = await import("../../launch/index.ts");
  const endpoint = { transport: "stdio", command, args, cwd: folder } as const;
  const plan = await planLaunch({ server: name, endpoint, settings: undefined, roots: [] }).catch(
    () => undefined,
  );
  const words = plan === undefined ? [] : [plan.program, ...plan.args];
  const write = await ownWriteOf(words.map((word) => resolve(folder, word)));
  return write === undefined ? [] : ownWriteNote(write, Object.keys(cli.options.env));
}

/** A driver can only request rights; the user relaxes its sandbox, in portolan.yaml or at each start. */
function modeNotes({ sandbox: { mode } }: Cli["options"], id: string): string[] {
  return mode === undefined || mode === "enforce"
    ? []
    : [
        `The server was started with --sandbox ${mode}. A DRIVER.md cannot set this mode. To start the server in the same way later, write contracts: { sandbox: { ${id}: ${mode} } } into portolan.yaml, or add --sandbox contracts=${mode} to commands that start the servers of drivers, such as portolan call.`,
      ];
}

/** The sandbox rules of the driver: the rights granted for this start, and the host of a remote server. */
function launchOf({ options, io }: Cli, { server }: Identified, folder: string, id: string): LaunchSettings {
  const { network, read, write } = options.sandbox;
  const found = sandboxOfCommand({ modes: {}, network, read, write }, io.cwd, []);
  const own = (paths: readonly string[] | undefined): string[] | undefined =>
    paths?.map((path) => within(resolve(io.cwd, path), driverFolder(folder, id), folder));
  const [readable, writable] = [own(found?.fs?.read), own(found?.fs?.write)];
  const fs = {
    ...(readable === undefined ? {} : { read: readable }),
    ...(writable === undefined ? {} : { write: writable }),
  };
  const hosts =
    server.kind === "remote" ? [...new Set([new URL(server.url).host, ...network])] : found?.network;
  const sandbox = {
    ...(hosts === undefined ? {} : { network: hosts }),
    ...(Object.keys(fs).length === 0 ? {} : { fs }),
  };
  return Object.keys(sandbox).length === 0 ? {} : { sandbox };
}

function titleOf({ server }: McpConnection, { name }: Identified): string {
  const info = server.info as { title?: unknown; name?: unknown } | undefined;
  const said = [info?.title, info?.name].find((text) => typeof text === "string" && text.trim() !== "");
  return plainLine(said ?? name, 80) || name;
}

/** A file name such as index.js, or an address, is no useful name: the server's own name replaces it. */
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

/** Streamable HTTP may have fallen back to HTTP+SSE. */
function transportOf({ server }: McpConnection, { transport }: Identified): Identified["transport"] {
  return transport === "http" && server.transport === "sse" ? "sse" : transport;
}
