// Texts about sandboxes in messages: resource limits as config files write them, and paths that a sandbox hides.

import { dirname, join } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import { DRIVER_PLACE, IN_DRIVER, IN_PROGRAM } from "./grant-command.ts";
import type { ResourceLimits, SandboxConfig } from "./sandbox.ts";
import { isSystemPath } from "./system-path.ts";

export const LIMIT_NAMES: Readonly<Record<keyof ResourceLimits, string>> = {
  memoryBytes: "memory",
  processes: "processes",
  openFiles: "open_files",
  cpuSeconds: "cpu",
  fileBytes: "file_size",
  niceness: "niceness",
};

const SIZES: readonly (readonly [string, number])[] = [
  ["GB", 1e9],
  ["GiB", 2 ** 30],
  ["MB", 1e6],
  ["MiB", 2 ** 20],
  ["KB", 1e3],
  ["KiB", 2 ** 10],
];

/** Returns a size in the largest unit that divides it. */
export function writtenSize(bytes: number): string | number {
  for (const [unit, size] of SIZES) if (bytes % size === 0) return `${bytes / size}${unit}`;
  return bytes;
}

/** Such as `limits.memory: 512MB`. */
export function limitRule(name: keyof ResourceLimits, value: number | undefined): string {
  const written =
    value === undefined
      ? ""
      : name === "memoryBytes" || name === "fileBytes"
        ? writtenSize(value)
        : name === "cpuSeconds"
          ? `${value}s`
          : value;
  return `limits.${LIMIT_NAMES[name]}: ${written}`;
}

/** A path that a sandbox hides or protects, as far as a message needs it. */
export interface DeniedPath {
  readonly path: string;
  /** Where the path is named: `args[1]`, `the arguments of a call`. */
  readonly where: string;
  readonly isNew?: boolean;
  /** The script that an interpreter should run. */
  readonly isScript?: boolean;
  /** The path may be read, and not written. */
  readonly isReadOnly?: boolean;
  /** The server only wanted to read it; undefined if that is not known. */
  readonly isForReading?: boolean;
  /** `fs.deny` of the server hides it: no grant changes that. */
  readonly isDenied?: boolean;
  /** It is Portolan's own data: no grant changes that. */
  readonly isOwnData?: boolean;
  /** The reason why it is always read-only: no grant changes that. */
  readonly protectedAs?: string;
  /** The path to grant, if it is another one: the folder of a new file. */
  readonly grant?: string;
  /** The folder to grant does not exist yet. */
  readonly isNewFolder?: boolean;
  /** The path to grant is the folder of the workspace, or contains it: too wide to suggest. */
  readonly isWorkspace?: boolean;
  /** The path to configure in its place, because the folder that the server needs is too wide to grant. */
  readonly ownFile?: string;
  /** The variable of the server that names the path, and the data file that the server can use without this variable. */
  readonly ownData?: { readonly variable: string; readonly file: string };
  /** The server failed at a path in the private home of its sandbox, and probably means this path. */
  readonly inPrivateHome?: PrivatePath;
  /** The paths that the config of the server grants and denies now. A suggested `fs` field contains them, because it replaces the present one. */
  readonly granted?: SandboxConfig["fs"];
}

/** A path in the private home of a sandbox. */
export interface PrivatePath {
  /** The path in the sandbox. */
  readonly seen: string;
  /** The private home. */
  readonly home: string;
  /** The path as `~/data`. */
  readonly written: string;
}

/** Message at a start, of a call and in `portolan validate` about a path that the sandbox hides or protects. */
export function hiddenPathMessage(
  server: string,
  {
    path,
    where,
    isNew = false,
    isScript = false,
    isReadOnly = false,
    protectedAs,
    inPrivateHome,
  }: DeniedPath,
): string {
  if (inPrivateHome !== undefined)
    return `Server "${server}" failed at ${inPrivateHome.seen}, named in ${where}. ${privatePathText(inPrivateHome, path)}, which the sandbox hides.`;
  if (isNew && isScript) return `There is no file ${path}, which server "${server}" should run (${where}).`;
  if (protectedAs !== undefined)
    return `The sandbox of server "${server}" protects ${path}, named in ${where}: it is ${protectedAs}, which the server can only read.`;
  if (isReadOnly)
    return `The sandbox of server "${server}" grants ${path}, named in ${where}, for reading only: the server cannot write it.`;
  const state = isNew ? ", which does not exist yet" : "";
  return `The sandbox of server "${server}" hides ${path}, named in ${where}${state}: the server can neither read nor write it.`;
}

/** `path`: the path that the server means, if the reader may know it. */
export function privatePathText({ home, written }: PrivatePath, path = written): string {
  return `${home} is the private home of the sandbox; the server probably means ${path}`;
}

/**
 * Returns how to allow a denied path: the command that grants it, or, for a server that no config file declares, the
 * options and the config. Undefined if no grant would help.
 */
export function pathGrant(
  denied: Omit<DeniedPath, "where">,
  command: string | undefined,
): string | undefined {
  const grant = grantablePath(denied);
  if (grant === undefined) return undefined;
  const { isReadOnly = false } = denied;
  const word = shellWord(grant);
  const creation = creationOf(denied, grant);
  const first = creation === undefined ? "" : `${creation} && `;
  const last = creation === undefined ? "" : `; create ${grant} first`;
  const readsOnly = isOnlyRead(denied);
  const writes = needsWrite(denied);
  if (command === IN_PROGRAM || command === IN_DRIVER) {
    const isGuess = !readsOnly && !writes;
    const place = command === IN_DRIVER ? ` ${DRIVER_PLACE}` : "";
    const other = isGuess ? " (or write in place of read, if the server writes it)" : "";
    return `${fieldInProgram(denied, grant)}${place}${other}${last}`;
  }
  if (command !== undefined)
    return !writes
      ? `${first}${command} --read ${word} (or --write, if the server also writes it)`
      : `${first}${command} --write ${word}${isReadOnly ? "" : " (or --read, if the server only reads it)"}`;
  const inYaml = word === grant ? grant : JSON.stringify(grant);
  if (readsOnly)
    return `--allow-read ${word}, or sandbox: { fs: { read: [${inYaml}] } } in the config of the server${last}.`;
  if (!writes)
    return `--allow-read ${word} (or --allow-write, if the server also writes it), or sandbox: { fs: { read: [${inYaml}] } } in the config of the server${last}.`;
  const options = isReadOnly ? `--allow-write ${word}` : `--allow-read ${word} or --allow-write ${word}`;
  const only = isReadOnly ? "" : " (read in place of write, if the server only reads it)";
  return `${options}, or sandbox: { fs: { write: [${inYaml}] } } in the config of the server${only}${last}.`;
}

/** Like `pathGrant`, without explanations: a command that a program can run, or the config that it can write. */
export function pathGrantCommand(
  denied: Omit<DeniedPath, "where">,
  command: string | undefined,
): string | undefined {
  const grant = grantablePath(denied);
  if (grant === undefined) return undefined;
  if (command === IN_PROGRAM || command === IN_DRIVER) return fieldInProgram(denied, grant);
  const access = needsWrite(denied) ? "write" : "read";
  if (command === undefined) return `--allow-${access} ${shellWord(grant)}`;
  const creation = creationOf(denied, grant);
  return `${creation === undefined ? "" : `${creation} && `}${command} --${access} ${shellWord(grant)}`;
}

/** The command that creates the path to grant; undefined if it exists. */
function creationOf(
  { path, isNew, isNewFolder }: Omit<DeniedPath, "where">,
  grant: string,
): string | undefined {
  if (isNewFolder === true) return `mkdir -p ${shellWord(grant)}`;
  if (isNew !== true || grant !== path) return undefined;
  return `${looksLikeFile(path) ? "touch" : "mkdir -p"} ${shellWord(path)}`;
}

/** Whether a path that does not exist yet is meant as a file: its name has an ending. */
export function looksLikeFile(path: string): boolean {
  return /[^/.]\.[A-Za-z0-9]{1,8}$/.test(path);
}

function grantablePath(denied: Omit<DeniedPath, "where">): string | undefined {
  const { path, isNew, isScript, isDenied, isOwnData, isWorkspace, protectedAs, ownFile } = denied;
  const { grant = path } = denied;
  const isMissing = isNew === true && isScript === true;
  const isForbidden = isDenied === true || isOwnData === true || isWorkspace === true;
  if (protectedAs !== undefined || ownFile !== undefined || isForbidden || isMissing) return undefined;
  // A file is never widened to a folder of the system.
  return [grant, path].find((one) => !isSystemPath(one));
}

function isOnlyRead({ isScript, isForReading = isScript, isReadOnly }: Omit<DeniedPath, "where">): boolean {
  return isForReading === true && isReadOnly !== true;
}

/** Whether a grant for reading cannot be enough. */
export function needsWrite({ isNew, isReadOnly, isForReading }: Omit<DeniedPath, "where">): boolean {
  return isReadOnly === true || isForReading === false || (isNew === true && isForReading !== true);
}

function unusualPath(path: string): string {
  return `Portolan suggests no grant for ${path}, because it belongs to the system or to another user.`;
}

/** Hint about a path that the config itself hides. */
const DENIED_HINT =
  "The rule sandbox.fs.deny of this server hides the path, and a grant does not change that. To allow the path, remove it from fs.deny.";

/** Why a path of Portolan itself is not granted. */
export const OWN_DATA = "it is Portolan's own data, which no server is allowed to see";

/** Why a config file is not granted for writing. */
export const CONFIG_FILE = "config files decide about sandboxes, so no server is allowed to write them";

const OWN_DATA_HINT = `No grant allows this path: ${OWN_DATA}.`;

/** Hint about a script that does not exist. */
export const MISSING_SCRIPT_HINT = "Correct the path in the server's command. A sandbox grant does not help.";

/** A program can write exactly what is missing, so that reading is suggested unless the server needs to write. */
function fieldInProgram(denied: Omit<DeniedPath, "where">, grant: string): string {
  return fsField(needsWrite(denied) ? "write" : "read", grant, denied.granted);
}

/** As a program writes it in the config of a server, with the paths that are there already. */
function fsField(access: "read" | "write", path: string, granted: SandboxConfig["fs"] = {}): string {
  const lists = (["read", "write", "deny"] as const).flatMap((name) => {
    const paths = [...(granted[name] ?? []), ...(name === access ? [path] : [])];
    return paths.length === 0 ? [] : [`${name}: [${paths.map((one) => JSON.stringify(one)).join(", ")}]`];
  });
  return `sandbox: { fs: { ${lists.join(", ")} } }`;
}

/** The hint of a message about a denied path. */
export function pathGrantHint(denied: DeniedPath, command: string | undefined): string {
  if (denied.isNew === true && denied.isScript === true) return MISSING_SCRIPT_HINT;
  const { path, ownFile } = denied;
  if (denied.isOwnData === true) return OWN_DATA_HINT;
  if (denied.isDenied === true) return DENIED_HINT;
  const isCommand = command !== undefined && command !== IN_PROGRAM && command !== IN_DRIVER;
  if (denied.ownData !== undefined && isCommand) return ownDataHint(denied, denied.ownData, command);
  if (ownFile !== undefined)
    return `Name a file in a separate folder, such as ${shellWord(ownFile)}, and grant that folder. A grant of ${shellWord(dirname(path))} would be too wide.`;
  if (denied.isWorkspace === true) {
    const { grant = path } = denied;
    return `Choose a folder in ${shellWord(grant)} that contains only files for this server, such as ${shellWord(join(grant, "data"))}, and grant that folder. A grant of ${shellWord(grant)} would be too wide: it contains config files and programs.`;
  }
  const how = pathGrant(denied, command);
  if (how === undefined && denied.protectedAs === undefined) return unusualPath(path);
  return how === undefined ? "Configure another file; no grant allows this one." : `Grant it with: ${how}`;
}

/** About a data file whose folder contains files of the person, for a server that needs the whole folder of its data file. */
export function ownDataHint(
  { path, isNew, grant = dirname(path) }: Omit<DeniedPath, "where">,
  { variable, file }: NonNullable<DeniedPath["ownData"]>,
  command: string,
): string {
  const copy =
    isNew === true ? "" : `. To keep the present data, then run: cp ${shellWord(path)} ${shellWord(file)}`;
  return `Give the server a folder of its own: remove ${variable} from the server's config, and run: ${command} --data ${shellWord(dirname(file))}${copy}. A grant of ${shellWord(grant)} would be too wide: the server could change other files there.`;
}

/** A path that the server itself refuses, because it was not started with its folder. */
export interface RefusedPath {
  readonly path: string | undefined;
  /** The folder to start the server with; undefined if it would be too wide. */
  readonly folder: string | undefined;
  readonly isNew?: boolean;
  /** The server only wanted to read it. */
  readonly isForReading?: boolean;
  /** The file and line of the server's config. */
  readonly place?: string;
}

/** The hint about a path that the sandbox hides, and that the server refuses by itself, too. */
export function ownFoldersHint(
  { path, folder, place, isNew, isForReading }: RefusedPath & { readonly path: string },
  command: string | undefined,
  { isDenied, isOwnData, granted }: Pick<DeniedPath, "isDenied" | "isOwnData" | "granted"> = {},
): string {
  if (isOwnData === true) return OWN_DATA_HINT;
  if (isDenied === true) return DENIED_HINT;
  const fact = "The server itself refuses this path, too.";
  if (isSystemPath(folder ?? path)) return `${fact} ${unusualPath(path)}`;
  // A file that does not exist cannot be granted.
  if (folder === undefined && isNew === true)
    return `${fact} Name a file in a separate folder: a grant of ${shellWord(dirname(path))} would be too wide.`;
  // The folder exists, and a new file is one to write.
  const wants = isForReading ?? (isNew === true ? false : undefined);
  const how = pathGrant({ path: folder ?? path, isForReading: wants, granted }, command) ?? "";
  const option = command === undefined ? "the option " : "";
  return `${fact} Add ${folder ?? "the folder of the path"} to ${argumentsAt(command, place)}, and grant it with: ${option}${how}`;
}

/** Text about a path that the sandbox grants and the server itself refuses: another grant does not help. */
export function ownFoldersText(
  server: string,
  { path, folder, place }: RefusedPath,
  command: string | undefined,
): string {
  return `Server "${server}" itself refuses ${path ?? "the path"}: it was not started with that folder. Add ${folder ?? "the folder"} to ${argumentsAt(command, place)}. The sandbox does not deny this path, so a sandbox grant does not help.`;
}

/** The same for a named caller of a gateway, who cannot change the config. */
export function ownFoldersForCaller(server: string, path: string | undefined): string {
  return `Server "${server}" itself refuses ${path ?? "the path"}: it was not started with that folder. Ask the operator of the gateway to add the folder.`;
}

/** Text about an argument such as ~/notes. `path`: the path that it means outside of the sandbox, if the caller may know it. */
export function privateHomeText(server: string, home: string, path: string | undefined): string {
  return `In the sandbox of server "${server}", ~ is another folder (${home}). Use the full path${path === undefined ? "" : `: ${path}`}`;
}

function argumentsAt(command: string | undefined, place: string | undefined): string {
  if (command === IN_PROGRAM) return "args of the server";
  if (command === IN_DRIVER) return `server.args ${DRIVER_PLACE}`;
  return place === undefined ? "the server's arguments" : `the server's arguments in ${place}`;
}
