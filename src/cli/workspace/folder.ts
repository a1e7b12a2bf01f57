// Workspace folder of a command, and paths as the output shows them.

import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, relative, resolve, sep } from "node:path";
import type { Computer } from "../../formats/clients/index.ts";
import type { CliIo } from "../context.ts";
import { plainLine } from "../terminal/safe-text.ts";

export interface WorkspaceOptions {
  workspace?: string;
}

export function workspaceFolder(io: Pick<CliIo, "cwd">, { workspace }: WorkspaceOptions): string {
  return resolve(io.cwd, workspace ?? ".");
}

/** The path that `--workspace` names, and its folder: the folder of a file is the one it is in. */
export async function findWorkspace(
  io: Pick<CliIo, "cwd">,
  options: WorkspaceOptions,
): Promise<{ path: string; folder: string }> {
  const path = workspaceFolder(io, options);
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
  return { path, folder: isFile ? dirname(path) : path };
}

/** The .env file of --env-file, relative to the folder that the user is in. */
export function envFileOf({
  io,
  options,
}: {
  readonly io: Pick<CliIo, "cwd">;
  readonly options: { readonly envFile?: string };
}): string | undefined {
  return options.envFile === undefined ? undefined : resolve(io.cwd, options.envFile);
}

export function computerOf({ env, platform }: CliIo, cwd: string): Computer {
  const home = (platform === "win32" ? env["USERPROFILE"] : env["HOME"]) || homedir();
  return { home, cwd, platform, env };
}

/** Shortens paths for the output, relative to the folder the user is in. */
export function pathLabeller(io: CliIo): (path: string) => string {
  const computer = computerOf(io, io.cwd);
  return (path) => pathLabel(path, computer);
}

/** A path as people write it: relative to their folder, or to their home. */
export function pathLabel(
  file: string,
  { home, cwd }: Pick<Computer, "home"> & Partial<Pick<Computer, "cwd">>,
): string {
  for (const [base, prefix] of [
    [cwd, ""],
    [home, `~${sep}`],
  ] as const) {
    if (base === undefined) continue;
    const path = relative(base, file);
    if (path !== "" && !path.startsWith("..") && path !== file) return plainLine(`${prefix}${path}`, 500);
  }
  return plainLine(file, 500);
}
