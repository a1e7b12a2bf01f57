// `portolan import`: shows the servers of other MCP clients on this computer, or copies them into the workspace.

import { readFile } from "node:fs/promises";
import type { Diagnostic } from "../../errors/index.ts";
import type { ClientServer, ImportedFile } from "../../formats/clients/index.ts";
import { filled } from "../../formats/manifest/index.ts";
import { toCommandLine } from "../../model/index.ts";
import { parseClient } from "../arguments/client-names.ts";
import type { Cli } from "../context.ts";
import { applyToGateways } from "../control/apply.ts";
import { type CompletedFields, withNoticedFields } from "../grants/noticed-fields.ts";
import { type OpenGrant, type OpenHosts, openGrantsOfNew, printOpenGrants } from "../grants/open-grants.ts";
import { endpointLabel } from "../output/endpoint-label.ts";
import { runsServe } from "../serve/own-gateway.ts";
import { optionFor } from "../workspace/elsewhere.ts";
import { computerOf, findWorkspace, type WorkspaceOptions } from "../workspace/folder.ts";
import { type CopyResult, copyServers, type SkippedServer } from "./copy.ts";
import { type RawSecretsOptions, secretPlacer } from "./secrets.ts";
import { describeCopy, describeImport } from "./view.ts";

export interface ImportCommandOptions extends WorkspaceOptions, RawSecretsOptions {
  write?: boolean;
  strict?: boolean;
}

/** The output of `import --json`. */
export interface ImportListing {
  readonly files: readonly ListedFile[];
}

export interface ListedFile extends Pick<ImportedFile, "client" | "scope" | "file"> {
  readonly servers: readonly ListedServer[];
  readonly diagnostics: readonly Diagnostic[];
}

export interface ListedServer {
  readonly alias: string;
  /** The server's name in the file. */
  readonly name: string;
  readonly transport: string;
  /** The command line or the URL, without values that may be secret. */
  readonly runs: string;
  /** Only names; values are never shown. */
  readonly env?: readonly string[];
  readonly headers?: readonly string[];
  readonly enabled: boolean;
  readonly line: number;
}

const adviseName = (): string => "Name the client: portolan import finds its config files itself.";

export async function importServers(
  cli: Cli,
  clients: readonly string[],
  options: ImportCommandOptions,
): Promise<number> {
  const { io, output } = cli;
  const { path, folder } = await findWorkspace(io, options);
  const computer = computerOf(io, folder);
  const only =
    clients.length === 0 ? undefined : [...new Set(clients.map((name) => parseClient(name, adviseName)))];
  const files = await io.importClients({ ...computer, clients: only });
  const listing: ImportListing = { files: files.map(toListed) };
  const openHosts = new Map<string, CompletedFields["openHosts"]>();
  const copied: CopyResult | undefined =
    options.write === true
      ? await copyServers(folder, await io.loadCatalog(path, { home: computer.home }), files, {
          home: computer.home,
          refuse: ({ endpoint }) => (isPortolan(endpoint) ? "it is a gateway of Portolan itself" : undefined),
          placeSecrets: secretPlacer(cli, options),
          complete: async (alias, fields, plain) => {
            const strict = options.strict === true;
            // The last lines of the command report what is still not granted.
            const request = { alias, fields, plain, folder, strict, notes: false };
            const completed = await withNoticedFields(cli, request);
            openHosts.set(alias, completed.openHosts);
            return completed;
          },
        })
      : undefined;
  if (copied?.change !== undefined) cli.changes.push(copied.change);
  const applied = copied === undefined ? undefined : await applyToGateways(cli);
  const grants = copied === undefined ? [] : await grantsOf(cli, copied, folder, openHosts);
  if (output.form === "json")
    output.json({ ...listing, ...copied, change: undefined, needsGrant: filled(grants), ...applied?.fields });
  else {
    const view = { colors: output.colors, width: output.width, computer: { ...computer, cwd: io.cwd } };
    const offer = copied === undefined;
    output.print(describeImport(listing, { ...view, only, offer, inWorkspace: optionFor(path, io) }));
    if (copied !== undefined) output.print(`\n${describeCopy(copied, view)}`);
    applied?.print();
  }
  printOpenGrants(cli, grants);
  const isLeftOut = ({ reason }: SkippedServer): boolean => reason === "invalid" || reason === "secret";
  return copied?.skipped.some(isLeftOut) === true ? 1 : (applied?.code ?? 0);
}

async function grantsOf(
  cli: Cli,
  { file, added }: CopyResult,
  folder: string,
  openHosts: OpenHosts,
): Promise<OpenGrant[]> {
  const aliases = added.map(({ alias }) => alias);
  if (aliases.length === 0) return [];
  return openGrantsOfNew(cli, { file, text: await readFile(file, "utf8"), aliases }, folder, openHosts);
}

/** A gateway that is a server of its own workspace would start itself. */
function isPortolan(endpoint: ClientServer["endpoint"]): boolean {
  if (endpoint.transport !== "stdio") return false;
  const { command, args } = toCommandLine(endpoint);
  return runsServe([command, ...args], process.argv[1]);
}

function toListed({ client, scope, file, servers, diagnostics }: ImportedFile): ListedFile {
  return { client, scope, file, servers: servers.map(toListedServer), diagnostics };
}

function toListedServer({ alias, name, endpoint, enabled, origin }: ClientServer): ListedServer {
  const names = Object.keys((endpoint.transport === "stdio" ? endpoint.env : endpoint.headers) ?? {});
  return {
    alias,
    name,
    transport: endpoint.transport,
    runs: endpointLabel(endpoint),
    ...(names.length === 0 ? {} : { [endpoint.transport === "stdio" ? "env" : "headers"]: names }),
    enabled,
    line: origin.line,
  };
}
