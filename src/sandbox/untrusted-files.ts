// Refuses files that a sandboxed server could have written, or that are Portolan's own data, when another server's
// start would read or run them.

import { lstat, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, resolve } from "node:path";
import type { Diagnostic } from "../errors/index.ts";
import { type ServerConfig, referencedFiles, type SandboxConfig, toCommandLine } from "../model/index.ts";
import { textsOf } from "../secrets/index.ts";
import { writableFolders } from "./policy/grants.ts";
import { ownFolders } from "./paths/hidden-paths.ts";
import { parseConfigured } from "./paths/path-pattern.ts";
import { withRealPaths, depth, isInside, isSteered, resolveLinks, resolvePath } from "./paths/paths.ts";
import type { WriteHistory } from "./write-history.ts";

/** The servers of a workspace and the roots that all of them may write. */
export interface FileWriters {
  readonly servers: readonly ServerConfig[];
  readonly roots: readonly string[];
  /** The sandboxes that were started so far; absent before any start. */
  readonly writes?: WriteHistory;
}

/** `isCovered`: every sandbox has this file read-only, as all existing config files. */
export interface FileUse {
  readonly isCovered?: boolean;
}

/** Why a file must not be read at a start, as the end of "it cannot be used: …"; undefined if it may be read. */
export async function fileRefusal(
  path: string,
  writers: FileWriters,
  use: FileUse = {},
): Promise<string | undefined> {
  const [{ links, end }, places] = await Promise.all([resolvePath(path), writablePlaces(writers)]);
  const way = [...links, end];
  if (ownFolders().some((folder) => way.some((one) => isInside(one, folder))))
    return "it is Portolan's own data";
  for (const place of places) {
    const link = links.find((one) => isInside(one, place.folder));
    if (link !== undefined) return `${link} is a link that ${mayWrite(place)} could have created`;
    if (use.isCovered !== true && isInside(end, place.folder) && !isProtected(end, place))
      return `${mayWrite(place)} could ${(await isThere(end)) ? "replace" : "create"} it`;
  }
  const writer = await writers.writes?.writerOf(path);
  return writer === undefined
    ? undefined
    : `the server ${writer} may have written this file from its sandbox`;
}

/** The hint of such a refusal. */
export const FILE_REFUSED_HINT =
  "Move the file to a folder that no server can write to, or store the value with portolan secrets set. If fs.write of a server grants the folder of the file, you can also add the file to fs.deny of that server, and restart the gateway if one runs.";

/** The hint for certificates that the settings of an mcpfile name. */
export const CERTIFICATES_REFUSED_HINT =
  "Move the certificates to a folder that no server can write to, and change caCertFiles or caCertDir in clientTlsConfig. If fs.write of a server grants a folder above them, you can instead add each file of caCertFiles, or the folder caCertDir itself, to fs.deny of that server, and restart the gateway if one runs.";

/** Reports files that a start of the server reads or runs although a server may write them. */
export async function checkStart(server: ServerConfig, writers: FileWriters): Promise<Diagnostic[]> {
  const [files, programs] = await Promise.all([
    checkFileReferences(server, writers),
    checkPrograms(server, writers),
  ]);
  return [...files, ...programs];
}

/**
 * Checks the files that the workspace itself names: its `env_file`, and file references in the tokens of gateway
 * callers.
 */
export async function checkWorkspaceFiles(
  { folder, envFile, tokens }: { folder: string; envFile?: string; tokens: readonly string[] },
  writers: FileWriters,
): Promise<Diagnostic[]> {
  const found: Diagnostic[] = [];
  const refuse = async (
    what: string,
    path: string,
    use: FileUse = {},
    severity: Diagnostic["severity"] = "error",
  ): Promise<void> => {
    const reason = await fileRefusal(path, writers, use);
    if (reason === undefined) return;
    const message = `${what} ${path} cannot be used: ${reason}`;
    found.push({ code: "SANDBOX_DENIED", severity, message, hint: FILE_REFUSED_HINT });
  };
  if (envFile !== undefined) {
    // A server can create a missing file, because a mount cannot cover it.
    const isCovered = await isThere(envFile);
    await refuse("the env_file", envFile, { isCovered }, isCovered ? "error" : "warning");
  }
  for (const path of tokens.flatMap(referencedFiles)) await refuse("the token file", resolve(folder, path));
  return found;
}

/** Checks the file references of a server config. */
async function checkFileReferences(server: ServerConfig, writers: FileWriters): Promise<Diagnostic[]> {
  const { alias, origin, endpoint } = server;
  if (endpoint.transport === "contracts") return [];
  const base = dirname(origin.file);
  const found: Diagnostic[] = [];
  const refuse = async (where: string, path: string, hint = FILE_REFUSED_HINT): Promise<void> => {
    const reason = await fileRefusal(resolve(base, path), writers);
    if (reason === undefined) return;
    const { file, line, column } = origin;
    const message = `${where} of the server ${alias} reads the file ${path}, which cannot be used: ${reason}`;
    const place = { file, line, column, server: alias, hint };
    found.push({ code: "SANDBOX_DENIED", severity: "error", message, ...place });
  };
  if (endpoint.transport === "invoke") {
    const { caCertFiles = [], caCertDir } = endpoint.server.clientTls ?? {};
    for (const path of caCertFiles) await refuse("caCertFiles", path, CERTIFICATES_REFUSED_HINT);
    if (caCertDir !== undefined) await refuse("caCertDir", caCertDir, CERTIFICATES_REFUSED_HINT);
    return found;
  }
  for (const { where, text } of textsOf(endpoint))
    for (const path of referencedFiles(text)) await refuse(where, path);
  return found;
}

/** The files that the references of a server config name. */
export function secretFilesOf({ origin, endpoint }: ServerConfig): string[] {
  if (endpoint.transport === "contracts" || endpoint.transport === "invoke") return [];
  const texts = textsOf(endpoint).flatMap(({ text }) => referencedFiles(text));
  return texts.map((path) => resolve(dirname(origin.file), path));
}

/**
 * Warns of programs and scripts that another server could replace from its sandbox: they run with the rights of
 * this server.
 */
async function checkPrograms(server: ServerConfig, writers: FileWriters): Promise<Diagnostic[]> {
  const { alias, origin, endpoint } = server;
  if (endpoint.transport !== "stdio") return [];
  const { cwd = dirname(origin.file) } = endpoint;
  const { command, args } = toCommandLine(endpoint);
  const words = [
    ...(/[\\/]/.test(command) ? [command] : []),
    ...args.filter((word) => !/^-|\$\{/.test(word)),
  ];
  const others = { ...writers, servers: writers.servers.filter((one) => one.alias !== alias), roots: [] };
  const places = await writablePlaces(others);
  const found: Diagnostic[] = [];
  for (const word of words) {
    const path = isAbsolute(word) ? word : resolve(cwd, word);
    const resolved = await resolveLinks(path);
    if (resolved === undefined || !(await isFile(resolved.real))) continue;
    const place = places.find(
      (one) => isInside(resolved.real, one.folder) && !isProtected(resolved.real, one),
    );
    if (place === undefined) continue;
    const { file, line, column } = origin;
    found.push({
      ...{ code: "CONFIG_INVALID", severity: "warning", server: alias, file, line, column },
      message: `the server ${alias} runs ${path}, which ${mayWrite(place)} could replace; the replacement would run with the rights of ${alias}`,
      hint: `Remove ${place.folder} from fs.write of ${place.server}, or protect the file: add it to fs.read of ${place.server}.`,
    });
  }
  return found;
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

interface WritablePlace {
  /** Absent for a root, which every server may write. */
  readonly server?: string;
  readonly folder: string;
  /** Read-only and hidden paths, which protect files in the folder. */
  readonly covers: readonly string[];
}

function mayWrite({ server, folder }: WritablePlace): string {
  return server === undefined
    ? `every server, which can write to the root ${folder},`
    : `the server ${server}, which can write to ${folder},`;
}

function isProtected(path: string, { folder, covers }: WritablePlace): boolean {
  return covers.some((cover) => isInside(path, cover) && depth(cover) >= depth(folder) && cover !== folder);
}

/** The folders that the sandboxes of these servers may write, as written and as real paths. */
export async function writableByServers(servers: readonly ServerConfig[]): Promise<string[]> {
  const written = servers
    .flatMap((server) => sandboxesOf(server))
    .flatMap(({ sandbox }) => (sandbox.mode === "off" ? [] : (sandbox.fs?.write ?? [])));
  const config = { fs: { write: [...new Set(written)] } };
  return writableFolders({ config, roots: [], keptHome: undefined, homedir: homedir() });
}

/** Whether the sandbox of one of these servers may write the file, or a link on the way to it. */
export async function isWritableByServers(path: string, servers: readonly ServerConfig[]): Promise<boolean> {
  const resolved = await resolveLinks(path);
  return resolved !== undefined && isSteered(resolved, await writableByServers(servers));
}

async function writablePlaces({ servers, roots }: FileWriters): Promise<WritablePlace[]> {
  const home = homedir();
  const declared = servers.flatMap((server) => sandboxesOf(server));
  const places = await Promise.all(
    declared.map(async ({ name, sandbox }): Promise<WritablePlace[]> => {
      // A server without a sandbox can write everything, and no check would prevent it.
      if (sandbox.mode === "off" || (sandbox.fs?.write ?? []).length === 0) return [];
      const given = { config: sandbox, roots: [], keptHome: undefined, homedir: home };
      const covered = [...(sandbox.fs?.read ?? []), ...(sandbox.fs?.deny ?? [])]
        .map((written) => parseConfigured(written, home))
        .flatMap(({ path, pattern }) => (pattern === undefined ? [path] : []));
      const [folders, covers] = await Promise.all([writableFolders(given), withRealPaths(covered)]);
      return folders.map((folder) => ({ server: name, folder, covers }));
    }),
  );
  const shared = await withRealPaths(roots);
  return [...places.flat(), ...shared.map((folder) => ({ folder, covers: [] }))];
}

/** All sandbox configs of a server: of its program, of an mcpfile's commands, or of drivers. */
function sandboxesOf({
  alias,
  endpoint,
  launch,
}: ServerConfig): { readonly name: string; readonly sandbox: SandboxConfig }[] {
  const own = (name: string, sandbox: SandboxConfig | undefined): ReturnType<typeof sandboxesOf> =>
    sandbox === undefined ? [] : [{ name, sandbox }];
  if (endpoint.transport === "contracts")
    return endpoint.drivers.flatMap(({ driver }) => own(driver.id, driver.launch.sandbox));
  if (endpoint.transport !== "invoke") return own(alias, launch?.sandbox);
  const { tools, prompts, resources, resourceTemplates } = endpoint.server;
  return [...tools, ...prompts, ...resources, ...resourceTemplates].flatMap(({ invocation }) =>
    invocation.kind === "cli" ? own(alias, invocation.sandbox) : [],
  );
}
