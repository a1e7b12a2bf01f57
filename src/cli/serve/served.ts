// Finds the servers that `portolan serve` serves: a workspace, other clients' servers, or one server of the command line.

import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { ParsedFiles } from "../../catalog/index.ts";
import { type Diagnostic, isPortolanError, noServers, PortolanError } from "../../errors/index.ts";
import type { WorkspaceConfig } from "../../hub/index.ts";
import type { SandboxMode } from "../../model/index.ts";
import type { Cli, Words } from "../context.ts";
import { workspaceSandbox } from "../options/sandbox.ts";
import { takeTarget } from "../target/connect.ts";
import { isFileName } from "../target/resolve-in-file.ts";
import { targetServer } from "../target/server-config.ts";
import { hasScheme } from "../target/target.ts";
import { findWorkspace, workspaceFolder } from "../workspace/folder.ts";
import { refuseTargetOptions } from "../workspace/open.ts";
import { loadSource, requireServer, type Source, sourceNote } from "../workspace/source.ts";

export interface Served {
  /** Portolan watches a path for changes; a config is fixed. */
  readonly source: string | WorkspaceConfig;
  readonly config: WorkspaceConfig;
  /** The config files of the workspace as they were read. */
  readonly parsedFiles?: ParsedFiles;
  /** The folder or config file by which other commands find the gateway; undefined for a server of the command line. */
  readonly path: string | undefined;
  /** The folder that the token belongs to. */
  readonly folder: string;
  /** True for servers of other clients' config files: Portolan stores nothing about them. */
  readonly keepsNothing: boolean;
  /** True for a config file without a naming template: a server that is alone in it keeps its tool names. */
  readonly bare: boolean;
  /** A note about the source of the servers. */
  readonly note: string | undefined;
  /** What is wrong with the config files, although the gateway can use them. */
  readonly warnings?: readonly Diagnostic[];
  /** Sandbox modes that override those of the server configs. */
  readonly sandbox?: Readonly<Record<string, SandboxMode>>;
}

/** Throws when there is nothing to serve. */
export async function findServed(
  cli: Cli,
  words: Words,
  only: readonly string[] | undefined,
): Promise<Served> {
  const { workspace, given } = readWords(words, cli);
  if (given !== undefined) return fromTarget(cli, given, only);
  refuseTargetOptions(cli);
  if (cli.options.era !== undefined)
    throw new PortolanError(
      "USAGE",
      "--era applies to a URL or a command. For servers of a workspace, set era in its config file.",
    );
  const at = { ...cli, options: { ...cli.options, workspace } };
  const source = await loadSource(at);
  for (const alias of only ?? []) requireServer(source, alias);
  const sandbox = workspaceSandbox(cli.options.sandbox, source);
  const { folder } = await findWorkspace(cli.io, { workspace });
  return {
    ...toServed(source),
    path: source.path,
    folder,
    bare: only === undefined && isConfigFile(source),
    note: sourceNote(source, cli.io),
    warnings: source.diagnostics.filter(({ severity }) => severity === "warning"),
    sandbox,
  };
}

/** The folder or config file that is served; undefined for a server of the command line. */
export function servedPath(words: Words, cli: Cli): string | undefined {
  const { workspace, given } = readWords(words, cli);
  return given === undefined ? workspaceFolder(cli.io, { workspace }) : undefined;
}

function toServed(source: Source): Pick<Served, "source" | "config" | "parsedFiles" | "keepsNothing"> {
  const { kind, path, config, parsedFiles } = source;
  if (kind === "workspace") return { source: path, config, parsedFiles, keepsNothing: false };
  if (config.servers.length > 0) return { source: config, config, keepsNothing: true };
  throw noServers(path);
}

function fromTarget(cli: Cli, words: Words, only: readonly string[] | undefined): Served {
  if (only !== undefined)
    throw new PortolanError("USAGE", "--only works only with a workspace, not with a single server.");
  const { target } = takeTarget(words, cli);
  const { cwd } = cli.io;
  // A single server needs no prefix: its tools keep their names.
  const config: WorkspaceConfig = {
    servers: [targetServer(target, cli.options, cwd)],
    naming: "{tool}",
    folder: cwd,
  };
  return {
    source: config,
    config,
    path: undefined,
    folder: cwd,
    keepsNothing: true,
    bare: true,
    note: undefined,
  };
}

/** True for a single config file other than portolan.yaml, which is a workspace even when it is named directly. */
function isConfigFile({ path, files, config }: Source): boolean {
  const [file] = files;
  return file?.file === path && file.format !== "workspace" && config.naming === undefined;
}

/** A folder or a config file is a workspace; anything else is a server of its own. */
function readWords({ words, server }: Words, cli: Cli): { workspace?: string; given?: Words } {
  const [first, extra] = words;
  const { workspace } = cli.options;
  if (extra !== undefined)
    throw new PortolanError(
      "USAGE",
      `portolan serve takes one workspace; unexpected argument ${JSON.stringify(extra)}.`,
      {
        hint: "To serve some servers of one workspace: --only <server>. If the arguments are the command of a server, write the command after --: portolan serve -- <command...>",
      },
    );
  const ways = [first, workspace, server].filter((way) => way !== undefined);
  if (ways.length > 1)
    throw new PortolanError("USAGE", "There is more than one workspace or command to serve.", {
      hint: "Use only one of them: a workspace, -w, or a command after --.",
    });
  if (server !== undefined) return { given: { words: [], server } };
  if (first === undefined) return { workspace };
  if (hasScheme(first) || /\s/.test(first.trim())) return { given: { words, server } };
  const found = statSync(resolve(cli.io.cwd, first), { throwIfNoEntry: false });
  if (found?.isDirectory() === true || (found !== undefined && isFileName(first)))
    return { workspace: first };
  try {
    takeTarget({ words, server }, cli);
  } catch (thrown) {
    if (!isPortolanError(thrown) || found !== undefined) throw thrown;
    throw new PortolanError("USAGE", `There is no folder, file or command ${JSON.stringify(first)}.`, {
      hint: "portolan serve takes a folder, a config file, a URL or a quoted command. To serve only some servers of the workspace: --only <server>",
      cause: thrown,
    });
  }
  return { given: { words, server } };
}
