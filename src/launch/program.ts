// Finds a server's program: on this machine, in the store (after installing it), or in an image.

import { stat } from "node:fs/promises";
import { ensureInstalled, isPackageInstalled } from "../install/index.ts";
import { parseIntegrity } from "../base/text/integrity.ts";
import { changedError, isPortolanError } from "../errors/index.ts";
import type { DockerRun, InstallableProgram, LaunchSettings } from "../model/index.ts";
import { resolveShim, findProgram, type Program, type RunProgram, type RunResult } from "../process/index.ts";
import { localHint, preferLocal } from "./local-program.ts";
import type { LaunchRequest } from "./prepare.ts";
import type { LaunchPlan } from "./types.ts";

export interface FoundProgram {
  readonly kind: LaunchPlan["kind"];
  /** Human-readable: where the program comes from. */
  readonly source: string;
  /** An absolute path. */
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  /** The folders that the program is installed in. */
  readonly folders: readonly string[];
  readonly docker: DockerRun | undefined;
  /** The package that runs the server's script, such as tsx, and its arguments. */
  readonly interpreter?: { readonly name: string; readonly args: readonly string[] };
  /** The package is not installed yet: the file stands for its interpreter, and no argument is its script. */
  readonly isAbsent?: true;
}

/** `run` runs the version command of the server config. */
export async function findServerProgram(
  request: LaunchRequest,
  program: InstallableProgram,
  run: RunProgram,
): Promise<FoundProgram> {
  const { package: from } = request;
  if (from?.isAbsent === true) return absentPackage(from.source, program, request.endpoint.cwd);
  const found = await findProgramOf(request, program, run);
  return from === undefined
    ? found
    : { ...found, source: from.source, folders: [...found.folders, ...from.folders] };
}

async function findProgramOf(
  request: LaunchRequest,
  written: InstallableProgram,
  run: RunProgram,
): Promise<FoundProgram> {
  const program = await preferLocal(written, request);
  const {
    server,
    endpoint,
    settings,
    signal,
    onLaunch,
    report = () => {},
    dryRun = false,
    context,
  } = request;
  const { cwd } = endpoint;
  if (program.kind === "binary" && isPlain(program, settings)) {
    const { command, args: words } = program;
    const env = { ...process.env, ...endpoint.env };
    const shim = await findProgram(command, { server, env, cwd, args: words }).catch(
      async (error: unknown) => {
        const hint = await localHint(command, words, cwd ?? process.cwd());
        throw hint !== undefined && isPortolanError(error) ? changedError(error, { hint }) : error;
      },
    );
    // The shim itself would need the whole version manager inside of the sandbox.
    const file = await resolveShim(shim, cwd ?? process.cwd(), env);
    return { kind: "binary", source: file, file, args: words, cwd, folders: [], docker: undefined };
  }
  const absent = dryRun ? await notInstalled(program, cwd) : undefined;
  if (absent !== undefined) return absent;
  const { kind, source, file, args, own, docker, notes } = await ensureInstalled(settings, program, {
    cwd,
    path: endpoint.env?.PATH,
    server,
    report,
    run: dryRun ? undefined : onceEach(run, context?.versions ?? new Map()),
    signal,
    onProgress: (progress) => onLaunch?.({ type: "progress", ...progress, server }),
  });
  return {
    ...{ kind, file, args, cwd, docker },
    source: [source, ...notes].join(". "),
    folders: own === undefined ? [] : [own],
    ...interpreterOf(program),
  };
}

function interpreterOf(program: InstallableProgram): Pick<FoundProgram, "interpreter"> {
  return program.kind === "npm"
    ? { interpreter: { name: program.bin ?? program.name, args: program.args } }
    : {};
}

/** A command of this machine that needs no installation and no version check, as most do. */
function isPlain(
  { note }: InstallableProgram & { readonly kind: "binary" },
  { install = [], versionCheck, requires }: LaunchSettings = {},
): boolean {
  return note === undefined && install.length === 0 && versionCheck === undefined && requires === undefined;
}

/** A package that a real start would install first. */
async function notInstalled(
  program: InstallableProgram,
  cwd: string | undefined,
): Promise<FoundProgram | undefined> {
  if (program.kind !== "npm") return undefined;
  const { spec, bin, integrity = "", dependencies } = program;
  if (await isPackageInstalled({ spec, bin, integrity: parseIntegrity(integrity), dependencies }))
    return undefined;
  return absentPackage(spec, program, cwd);
}

function absentPackage(name: string, program: InstallableProgram, cwd: string | undefined): FoundProgram {
  const { kind, args } = program;
  const source = `${name}, which is not installed yet`;
  return {
    ...{ kind, source, file: process.execPath, args, cwd, folders: [], docker: undefined, isAbsent: true },
    ...interpreterOf(program),
  };
}

/** Runs the version command once per program file, until the file changes. */
function onceEach(run: RunProgram, results: Map<string, RunResult>): RunProgram {
  return async (program, options) => {
    const key = JSON.stringify([program.file, program.args, await changedAt(program)]);
    const known = results.get(key);
    if (known !== undefined) return known;
    const answer = await run(program, options);
    // A command that was stopped at its time limit may finish the next time.
    if (answer.code !== null) results.set(key, answer);
    return answer;
  };
}

async function changedAt({ file, args }: Program): Promise<(number | undefined)[]> {
  const times = [file, ...args.slice(0, 1)].map((path) => stat(path).catch(() => undefined));
  return (await Promise.all(times)).map((found) => found?.mtimeMs);
}
