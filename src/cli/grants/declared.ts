// Finds the place of a server's sandbox: the file that declares the server, or a copy of it in portolan.yaml.

import { readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { PortolanError } from "../../errors/index.ts";
import {
  findPlainSecrets,
  openDocument,
  SANDBOX_PLACES,
  type SandboxPlace,
  type SyntaxName,
  VSCODE_PLACES,
} from "../../formats/clients/index.ts";
import { addServer } from "../../formats/workspace/index.ts";
import { isObject, type ServerConfig } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { requireServerHere } from "../workspace/client-hint.ts";
import { withElsewhere } from "../workspace/elsewhere.ts";
import { contractsOf } from "../workspace/contracts.ts";
import { findWorkspace, pathLabeller } from "../workspace/folder.ts";
import { toServerFields } from "../workspace/server-fields.ts";
import { findServer, loadSource, type Source } from "../workspace/source.ts";

export interface Declared extends Omit<SandboxPlace, "same"> {
  readonly server: ServerConfig;
  readonly file: string;
  readonly syntax: SyntaxName;
  /** The text to change, if it is not the one of the file: portolan.yaml with a copy of the server. */
  readonly text?: string;
  /** The text of the file that `text` was made from; empty if there was no file. */
  readonly basis?: string;
  /** The file that the server was copied from. */
  readonly copiedFrom?: string;
  /** Other servers that were not copied, because they have secrets in clear. */
  readonly leftOut?: readonly string[];
  /** The workspaces that the gateways or clients of this user use, if the file is a new one that they do not use. */
  readonly elsewhere?: string;
}

interface FindOptions {
  readonly verb: "grant" | "revoke";
  /** Whether a server of a format without a sandbox may be copied to portolan.yaml. */
  readonly copies: boolean;
  readonly isDry: boolean;
}

export async function findDeclared(cli: Cli, alias: string, options: FindOptions): Promise<Declared> {
  const source = await loadSource(cli);
  const label = pathLabeller(cli.io);
  const drivers = contractsOf(source)?.endpoint.drivers ?? [];
  const driver = drivers.find((one) => one.driver.id === alias)?.driver;
  if (driver !== undefined && findServer(source, alias) === undefined)
    throw new PortolanError(
      "USAGE",
      `${alias} is a driver, and this command cannot change the rights of a driver.`,
      {
        hint: `In ${label(driver.origin.file)}, change sandbox.fs for files, or network for hosts.`,
      },
    );
  const server = findServer(source, alias) ?? (await requireServerHere(cli, source, alias));
  refuseWithoutSandbox(server, label);
  const { file, format } = server.origin;
  const syntax = syntaxOf(file);
  if (format === "workspace")
    return { server, file, syntax, at: ["servers", server.alias, "sandbox"], places: SANDBOX_PLACES };
  const document = openDocument(syntax, await readFile(file, "utf8"));
  if (format === "mcpfile") {
    // A file outside of the workspace has the default profile, and none of its own yet.
    const isDefault = !JSON.stringify(document.value ?? "").includes('"sandbox"');
    if (document.get(["sandbox"]) !== undefined || (isDefault && document.get(["tools"]) !== undefined))
      return { server, file, syntax, at: ["sandbox"], places: SANDBOX_PLACES };
    throw new PortolanError(
      "USAGE",
      `${label(file)} has no sandbox section for the whole file, so nothing was changed.`,
      {
        hint: "Servers or commands in the file have sandbox sections of their own. Change these sections by hand.",
      },
    );
  }
  if (format === "manifest") {
    const list = document.get(["config", "servers"]);
    const index = Array.isArray(list)
      ? list.findIndex((one) => isObject(one) && one.alias === server.alias)
      : -1;
    if (index >= 0)
      return { server, file, syntax, at: ["config", "servers", index, "sandbox"], places: SANDBOX_PLACES };
  }
  const inVsCode = format === "vscode" ? vscodePath(server, (path) => document.get(path)) : undefined;
  if (inVsCode !== undefined)
    return { server, file, syntax, at: [...inVsCode, "sandbox"], places: VSCODE_PLACES };
  if (!options.copies)
    throw withElsewhere(
      new PortolanError(
        "USAGE",
        `${label(file)} has no sandbox settings for ${alias}, so there is nothing to revoke.`,
        {
          hint: `To see the rights of the server: portolan why --plan ${alias}`,
        },
      ),
      source,
    );
  return copied(cli, source, server);
}

function refuseWithoutSandbox(
  { alias, endpoint, launch, origin }: ServerConfig,
  label: (path: string) => string,
): void {
  const place = `${label(origin.file)}:${origin.line}`;
  if (endpoint.transport === "contracts")
    throw new PortolanError(
      "USAGE",
      `${alias} is the name for all drivers, and each driver has its own sandbox.`,
      {
        hint: "In the DRIVER.md of a driver, change sandbox.fs for files, or network for hosts. To see the drivers: portolan status",
      },
    );
  if (endpoint.transport === "invoke") {
    const { tools, prompts, resources, resourceTemplates } = endpoint.server;
    const all = [...tools, ...prompts, ...resources, ...resourceTemplates];
    const commands = all.flatMap(({ invocation }) => (invocation.kind === "cli" ? [invocation] : []));
    if (commands.length === 0)
      throw new PortolanError("USAGE", `The mcpfile of ${alias} runs no commands, so there is no sandbox.`, {
        hint: "There is nothing to grant or revoke.",
      });
    const open = commands.filter(({ sandbox }) => sandbox === undefined);
    if (open.length === 0) return;
    const whose = open.length === commands.length ? "its" : "some of its";
    throw new PortolanError(
      "USAGE",
      `${alias} has no sandbox for the whole file: ${whose} commands run with all your rights.`,
      {
        hint: `To restrict all commands, first write sandbox: {} into ${label(origin.file)}, at the same level as tools. Then grant the rights that the commands need.`,
      },
    );
  }
  if (endpoint.transport !== "stdio" && !("program" in endpoint && endpoint.program !== undefined))
    throw new PortolanError(
      "USAGE",
      `${alias} is a server behind a URL. Portolan does not start the server, so there is no sandbox.`,
      { hint: "There is nothing to grant or revoke." },
    );
  if (launch?.sandbox?.mode === "off")
    throw new PortolanError(
      "USAGE",
      `The sandbox of ${alias} is off, so the server already has all your rights.`,
      {
        hint: `First remove the sandbox mode off from the config of the server (${place}).`,
      },
    );
}

/** The entry in VS Code's file, if its sandbox is on there. */
function vscodePath(
  server: ServerConfig & { readonly name?: string },
  get: (path: readonly string[]) => unknown,
): readonly string[] | undefined {
  const name = server.name ?? server.alias;
  return [
    ["servers", name],
    ["mcp", "servers", name],
  ].find((path) => get([...path, "sandboxEnabled"]) === true);
}

/** portolan.yaml takes precedence over the files of other clients, so that a copy there can have a sandbox. */
async function copied(cli: Cli, source: Source, server: ServerConfig): Promise<Declared> {
  const { folder } = await findWorkspace(cli.io, { workspace: cli.options.workspace });
  const file = await ownFile(folder);
  const before = await readFile(file, "utf8").catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === "ENOENT") return undefined;
    throw new PortolanError("FILE_FAILED", `${pathLabeller(cli.io)(file)} cannot be read (${thrown.code}).`, {
      cause: thrown,
    });
  });
  // Without a config file in the folder, all servers come from other clients; a file with one would hide the rest.
  const others = source.kind === "clients" ? source.config.servers : [server];
  refusePlainSecrets(server, pathLabeller(cli.io));
  const servers = others.filter((one) => plainSecrets(one).length === 0);
  const leftOut = others.filter((one) => !servers.includes(one)).map(({ alias }) => alias);
  const text = servers.reduce(
    (now: string | undefined, one) => addServer(now, one.alias, toServerFields(withoutFolder(one, folder))),
    before,
  );
  const at = ["servers", server.alias, "sandbox"];
  return {
    server,
    file,
    syntax: "yaml",
    at,
    places: SANDBOX_PLACES,
    text,
    basis: before ?? "",
    copiedFrom: server.origin.file,
    leftOut,
    // With -w, the user has chosen the workspace.
    elsewhere: cli.options.workspace === undefined ? source.elsewhere : undefined,
  };
}

function plainSecrets({ endpoint }: ServerConfig): string[] {
  if (endpoint.transport === "invoke" || endpoint.transport === "contracts") return [];
  return findPlainSecrets({ endpoint }).map(({ name }) => name);
}

/** A copy would have them in plain text, too. */
function refusePlainSecrets(server: ServerConfig, label: (path: string) => string): void {
  const found = plainSecrets(server).map((name) => `${name} (${server.alias})`);
  if (found.length > 0)
    throw new PortolanError(
      "USAGE",
      `Nothing was granted: ${label(server.origin.file)} contains secrets in plain text, which Portolan does not copy to portolan.yaml: ${found.join(", ")}.`,
      {
        hint: "First import the servers and store their secrets in the vault: portolan import --write --secrets vault. Then run this command again.",
      },
    );
}

/** The working folder that only follows from the workspace is not written. */
function withoutFolder(server: ServerConfig, folder: string): ServerConfig {
  const { endpoint, launch } = server;
  if (endpoint.transport !== "stdio" || launch?.cwdImplied !== true || endpoint.cwd !== folder) return server;
  return { ...server, endpoint: { ...endpoint, cwd: undefined } };
}

/** The full path of the portolan.yaml of a folder, also if it does not exist yet. */
export async function ownFile(folder: string): Promise<string> {
  const names = ["portolan.yaml", "portolan.yml"].map((name) => join(folder, name));
  for (const name of names) {
    const found = await stat(name).catch(() => undefined);
    if (found !== undefined) return name;
  }
  return names[0] as string;
}

function syntaxOf(file: string): SyntaxName {
  const extension = extname(file).toLowerCase();
  return extension === ".toml" ? "toml" : /^\.ya?ml$/.test(extension) ? "yaml" : "json";
}
