// Makes sure that a server's program is installed, has the right version, and can be started.

import { parseIntegrity } from "../base/text/integrity.ts";
import { isPortolanError, PortolanError, type Report } from "../errors/index.ts";
import {
  type DockerRun,
  type LaunchSettings,
  programName,
  type InstallableProgram,
  parseProgram,
  type VersionCheck,
} from "../model/index.ts";
import {
  childEnvironment,
  findProgram,
  lookUpProgram,
  type Program,
  type RunProgram,
} from "../process/index.ts";
import { splitCommand } from "./command-words.ts";
import { obtain, systemCommand, type MethodContext } from "./methods.ts";
import { findBin } from "./npm/bin.ts";
import { installNpm } from "./npm/package.ts";
import type { Progress } from "./download.ts";
import { checkRequires } from "./requires.ts";
import { defaultStoreRoot } from "./store/store.ts";
import { checkError, checkVersion, versionError } from "./version-check.ts";

export interface InstallContext {
  readonly server: string;
  /** The folder that the program runs in, and the PATH that the server config sets. */
  readonly cwd?: string;
  readonly path?: string;
  readonly report: Report;
  /** The folder of the store. Default: the user's own. */
  readonly root?: string;
  /** Runs the version command. Absent: the version is not checked. */
  readonly run?: RunProgram;
  /** Resolves ranges and tags again. */
  readonly update?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** Replaces this process's own environment: PATH, and the settings of npm. */
  readonly env?: NodeJS.ProcessEnv;
}

export interface Resolved {
  readonly kind: InstallableProgram["kind"];
  /** An absolute path. */
  readonly file: string;
  /** All arguments: those that run the program, then the server's own. */
  readonly args: readonly string[];
  /** Human-readable: where the program comes from. */
  readonly source: string;
  /** The folder that the program needs to read. */
  readonly own: string | undefined;
  readonly version: string | undefined;
  readonly integrity: string | undefined;
  readonly docker: DockerRun | undefined;
  readonly notes: readonly string[];
}

/** The arguments before the server's own. */
interface Found extends Resolved {
  readonly prefix: readonly string[];
  /** Whether installing again could give another version. */
  readonly renewable: boolean;
}

export async function ensureInstalled(
  settings: LaunchSettings | undefined,
  program: InstallableProgram,
  context: InstallContext,
): Promise<Resolved> {
  try {
    return await ensure(settings, program, context);
  } catch (error) {
    const { server, signal } = context;
    if (isPortolanError(error)) throw error.at({ server });
    // The reason of an abort may be any value, which says nothing about the installation.
    if (signal?.aborted !== true) throw error;
    throw new PortolanError("CANCELLED", `installing ${server} was cancelled`, { server, cause: error });
  }
}

async function ensure(
  settings: LaunchSettings | undefined,
  program: InstallableProgram,
  context: InstallContext,
): Promise<Resolved> {
  const folder = settings?.requires?.diskBytes === undefined ? undefined : await rootOf(context);
  await checkRequires(settings?.requires, { server: context.server, folder });
  const first = await find(settings, program, context, false);
  const check = settings?.versionCheck;
  const { run } = context;
  if (check === undefined || run === undefined) return plain(first);
  if (first.kind === "docker") {
    const message =
      "Portolan ignores version_check, because the server is a container image. Name the image by its digest instead.";
    context.report({ code: "VERSION_MISMATCH", severity: "warning", message, server: context.server });
    return plain(first);
  }
  const askVersion = async (found: Found): ReturnType<typeof checkVersion> => {
    try {
      const versioned = await versionProgram(check, program, found, context);
      return await checkVersion(check, versioned, run, context.signal);
    } catch (error) {
      throw checkError(check, error);
    }
  };
  let checked = await askVersion(first);
  if (checked.ok) return { ...plain(first), version: first.version ?? checked.version };
  if (first.renewable) {
    const second = await find(settings, program, context, true).catch(() => undefined);
    context.signal?.throwIfAborted();
    if (second !== undefined) {
      checked = await askVersion(second);
      if (checked.ok) return { ...plain(second), version: second.version ?? checked.version };
    }
  }
  throw versionError(check, checked, hintFor(settings?.install));
}

async function rootOf({ root }: InstallContext): Promise<string> {
  return root ?? (await defaultStoreRoot());
}

async function find(
  settings: LaunchSettings | undefined,
  program: InstallableProgram,
  context: InstallContext,
  again: boolean,
): Promise<Found> {
  const { server, signal, onProgress, cwd, path } = context;
  const env = { ...(context.env ?? process.env), ...(path === undefined ? {} : { PATH: path }) };
  const root = await rootOf(context);
  const update = again || context.update === true;
  const nothing = {
    version: undefined,
    integrity: undefined,
    docker: undefined,
    own: undefined,
    notes: [],
    prefix: [],
  };
  if (program.kind === "npm") {
    const { spec, bin, args } = program;
    const expected = program.integrity === undefined ? undefined : parseIntegrity(program.integrity);
    const options = {
      spec,
      bin,
      integrity: expected,
      dependencies: program.dependencies,
      root,
      update,
      server,
      signal,
      onProgress,
      env: context.env,
    };
    const { name, version, integrity, folder, file, args: prefix } = await installNpm(options);
    const source = `${name}@${version} ${integrity}`;
    const found = { version, integrity, own: folder, file, prefix, args: [...prefix, ...args], source };
    return { ...nothing, ...found, kind: "npm", renewable: !again };
  }
  const { command } = program;
  if (program.kind === "docker") {
    const file = await findProgram(command, { server, env, cwd, args: program.words });
    const found = { file, args: program.words, source: program.image, docker: program };
    return { ...nothing, ...found, kind: "docker", renewable: false };
  }
  const own = program.args;
  const where = { server, env, cwd, args: own };
  const notes = program.note === undefined ? [] : [program.note];
  const methods = settings?.install ?? [];
  const here = again ? undefined : await lookUpProgram(command, where);
  if (here !== undefined || methods.length === 0) {
    const file = await findProgram(command, where);
    return {
      ...nothing,
      kind: "binary",
      file,
      args: own,
      source: file,
      notes,
      renewable: methods.length > 0,
    };
  }
  const method: MethodContext = { ...context, root, update, base: cwd };
  const { args: prefix, folder, ...got } = await obtain(command, methods, method);
  const found = { ...got, version: got.version, integrity: got.integrity, own: folder, prefix };
  return { ...nothing, ...found, kind: "binary", args: [...prefix, ...own], notes, renewable: !again };
}

/** The server's own program if the check names it, else a package of the store or a program of this machine. */
async function versionProgram(
  check: VersionCheck,
  own: InstallableProgram,
  { file, prefix, own: folder }: Found,
  context: InstallContext,
): Promise<Program> {
  const [command = "", ...args] = splitCommand(check.command);
  const program = { cwd: undefined, env: childEnvironment(undefined) };
  const asked = parseProgram({ command, args });
  if (asked.kind === "npm") {
    if (own.kind === "npm" && own.name === asked.name && (asked.bin ?? own.bin) === own.bin)
      return { ...program, file, args: [...prefix, ...asked.args] };
    const { server, signal, onProgress } = context;
    const root = context.root ?? (await defaultStoreRoot());
    const options = { spec: asked.spec, bin: asked.bin, root, server, signal, onProgress, env: context.env };
    const found = await installNpm(options);
    return { ...program, file: found.file, args: [...found.args, ...asked.args] };
  }
  if (own.kind === "binary" && programName(command) === programName(own.command))
    return { ...program, file, args: [...prefix, ...args] };
  if (own.kind === "npm" && folder !== undefined) {
    // Programs of a package are not on the PATH.
    const bin = await findBin(folder, own.name, command).catch(() => undefined);
    if (bin !== undefined) return { ...program, file: bin.file, args: [...bin.args, ...args] };
  }
  const env = context.env ?? process.env;
  return { ...program, file: await findProgram(command, { server: context.server, env, args }), args };
}

function hintFor(methods: LaunchSettings["install"]): string | undefined {
  const commands = (methods ?? [])
    .map((method) => systemCommand(method))
    .filter((found) => found?.here === true);
  return commands.length === 0
    ? undefined
    : `Install another version: ${commands.map((found) => found?.command).join(", or ")}.`;
}

function plain({ prefix: _prefix, renewable: _renewable, ...resolved }: Found): Resolved {
  return resolved;
}
