// The parts of Portolan that `disconnect` does not remove, each with the command that removes it.

import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import { installedPackages } from "../../install/index.ts";
import { knownServer, programWords, type ServerConfig, unsetDataFile } from "../../model/index.ts";
import { clientTitle } from "../arguments/client-names.ts";
import type { Cli } from "../context.ts";
import { storedOnlyFor } from "../secrets/stored-only-for.ts";
import { serviceName } from "../service/definition.ts";
import { serviceManager } from "../service/manager.ts";
import { count, wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { optionFor } from "../workspace/elsewhere.ts";
import { computerOf, pathLabel } from "../workspace/folder.ts";
import { gatewayLabel } from "../workspace/running.ts";
import type { ConnectionRecord } from "./records.ts";

export interface LeftPart {
  readonly what: string;
  readonly command: string;
}

export interface LeftRequest {
  /** The workspaces of the clients that were disconnected. */
  readonly workspaces: ReadonlySet<string>;
  /** The clients that are still connected. */
  readonly connected: readonly ConnectionRecord[];
  /** True if a restored server of a client uses this file. */
  readonly isUsed: (file: string) => boolean;
}

/** Finds what `disconnect` leaves behind. A workspace that another client still uses is not listed. */
export async function findLeft(
  cli: Cli,
  { workspaces, connected, isUsed }: LeftRequest,
): Promise<LeftPart[]> {
  const unused = [...workspaces].filter((one) => !connected.some(({ workspace }) => workspace === one));
  const parts: LeftPart[] = [];
  for (const workspace of unused) parts.push(...(await leftIn(cli, workspace, isUsed)));
  // Portolan has one store of packages for all workspaces.
  if (unused.length > 0 && connected.length === 0) parts.push(...(await leftPackages(cli)));
  return parts;
}

async function leftIn(cli: Cli, workspace: string, isUsed: (file: string) => boolean): Promise<LeftPart[]> {
  const { io } = cli;
  const label = labeller(io);
  const at = optionFor(workspace, io);
  const { gateways } = await io.findGateways(workspace);
  const catalog = await io.loadCatalog(workspace, { home: computerOf(io, workspace).home });
  const { servers, settings, folder } = catalog;
  const { home } = computerOf(io, folder);
  const isOfClient = await usedByClients(cli, folder);
  const own = servers.filter(({ origin }) => origin.format === "workspace");
  const names = own.map(({ alias }) => alias);
  const config = { servers, folder, gateway: settings.gateway, registries: settings.registries };
  const secrets = await storedOnlyFor(io, config, names);
  const file = ["portolan.yaml", "portolan.yml"]
    .map((name) => (/\.ya?ml$/.test(workspace) ? workspace : join(workspace, name)))
    .find(existsSync);
  return [
    ...(isService(io, workspace)
      ? [{ what: "the service that starts the gateway", command: `portolan service uninstall${at}` }]
      : []),
    ...gateways
      .filter(({ kind }) => kind === "http")
      .map((gateway) => ({ what: `the gateway ${gatewayLabel(gateway)}`, command: `portolan stop${at}` })),
    ...(secrets.length === 0
      ? []
      : [
          {
            what: count(secrets.length, "stored secret"),
            command: `portolan secrets rm ${secrets.map(shellWord).join(" ")}${at}`,
          },
        ]),
    // The server of a client may use the same data.
    ...own
      .flatMap((server) => dataOf(server, home))
      .filter(({ file: data }) => !isUsed(data) && !isOfClient(data))
      .map(({ alias, file: data }) => ({
        what: `the data of ${plainLine(alias, 80)}`,
        command: `rm ${pathWord(data, io)}`,
      })),
    ...(own.length === 0
      ? []
      : [
          {
            what: `${count(own.length, "server")} in ${label(file ?? workspace)}`,
            command: `portolan remove ${names.map(shellWord).join(" ")}${at}`,
          },
        ]),
    ...(file === undefined
      ? []
      : [
          { what: `the file ${basename(file)} itself`, command: `rm ${pathWord(file, io)}` },
          ...backupsOf(file).map((backup) => ({
            what: `the backup of ${basename(file)}`,
            command: `rm ${pathWord(backup, io)}`,
          })),
        ]),
  ];
}

/** The copies of the file that `connect --import` and `import --write` made. */
function backupsOf(file: string): string[] {
  const start = `${basename(file)}.portolan-`;
  return readdirSync(dirname(file))
    .filter((name) => name.startsWith(start) && name.endsWith(".bak"))
    .map((name) => join(dirname(file), name));
}

async function leftPackages({ io }: Cli): Promise<LeftPart[]> {
  const { folder, names } = await installedPackages();
  if (names.length === 0) return [];
  return [
    {
      what: `installed packages (${plainLine(names.join(", "), 500)})`,
      command: `rm -rf ${pathWord(folder, io)}`,
    },
  ];
}

export function describeLeft(
  { io, output }: Cli,
  parts: readonly LeftPart[],
  request: LeftRequest,
): string[] {
  const users = request.connected.filter(({ workspace }) => request.workspaces.has(workspace));
  const titles = [...new Set(users.map(({ client }) => clientTitle(client)))].join(", ");
  const clients = [...new Set(users.map(({ client }) => client))].join(" ");
  return [
    ...(users.length === 0
      ? []
      : [
          wrap(
            `Still connected to ${[...new Set(users.map(({ workspace }) => labeller(io)(workspace)))].join(", ")}: ${titles}. To disconnect: portolan disconnect ${clients}`,
            output.width,
            2,
          ),
        ]),
    ...(parts.length === 0
      ? []
      : [
          "Portolan did not remove the following. To remove it:",
          ...parts.map(({ what, command }) => wrap(`  ${what}: ${command}`, output.width, 4)),
        ]),
  ];
}

function labeller(io: Cli["io"]): (path: string) => string {
  const { home } = computerOf(io, io.cwd);
  return (path) => pathLabel(path, { home });
}

/** A shell does not expand `~` in quotes. */
function pathWord(path: string, io: Cli["io"]): string {
  const short = labeller(io)(path);
  return shellWord(short) === short ? short : shellWord(path);
}

function isService(io: Cli["io"], workspace: string): boolean {
  if (io.platform !== "linux" && io.platform !== "darwin") return false;
  return existsSync(serviceManager(io).file(serviceName(workspace)));
}

/** The data file of a known server, if its path is the one that Portolan chooses: any other path is the choice of the user. */
function dataOf(server: ServerConfig, home: string): { readonly alias: string; readonly file: string }[] {
  const { alias, endpoint } = server;
  const known = knownServer(programWords(server));
  if (known?.dataVariable === undefined || endpoint.transport !== "stdio") return [];
  const { [known.dataVariable]: file, ...env } = endpoint.env ?? {};
  const chosen = unsetDataFile({ endpoint: { ...endpoint, env } }, known, home)?.file;
  return file !== undefined && file === chosen && existsSync(file) ? [{ alias, file }] : [];
}

/** True if a server in the file of any client on this computer uses the file. */
async function usedByClients({ io }: Cli, folder: string): Promise<(file: string) => boolean> {
  const files = await io.importClients(computerOf(io, folder));
  const values = new Set(
    files
      .flatMap(({ servers }) => servers)
      .flatMap(({ endpoint }) =>
        endpoint.transport === "stdio"
          ? [...(endpoint.args ?? []), ...Object.values(endpoint.env ?? {})]
          : [],
      ),
  );
  return (file) => values.has(file);
}
