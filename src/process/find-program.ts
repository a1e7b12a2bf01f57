// Finds the program file of a command as the operating system would, without running it and without searching the
// current folder.

import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isProgram, searchFolders, windowsEndings } from "../base/process/program-path.ts";
import { PortolanError } from "../errors/index.ts";

export interface FindOptions {
  readonly server?: string;
  /** The variables whose PATH is searched. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The folder that a relative path starts from. */
  readonly cwd?: string;
  /** The arguments, because Windows parses those of a batch file again. */
  readonly args?: readonly string[];
}

const windows = process.platform === "win32";

/** Returns an absolute path, or throws. */
export async function findProgram(command: string, options: FindOptions = {}): Promise<string> {
  const found = await lookUpProgram(command, options);
  if (found === undefined)
    throw startError(command, "no such program", "ENOENT", options.server, {
      hint: "Check the spelling, install the program, or give its full path.",
    });
  if (windows && /\.(?:cmd|bat)$/i.test(found) && options.args?.some((arg) => /["%!^&|<>()\r\n]/.test(arg)))
    throw startError(
      command,
      "it is a batch file, and its arguments could be read as commands",
      "EINVAL",
      options.server,
      { hint: "Name the program that the batch file starts, or leave the special characters out." },
    );
  return found;
}

/** Returns undefined if there is no such program. */
export async function lookUpProgram(
  command: string,
  { env = process.env, cwd = process.cwd(), server }: FindOptions = {},
): Promise<string | undefined> {
  if (command === "" || command.includes("\0")) return undefined;
  const endings = windows ? windowsEndings(command, env.PATHEXT) : [""];
  if (/[/\\]/.test(windows ? command : command.replaceAll("\\", ""))) {
    const path = resolve(cwd, command);
    for (const ending of endings) if (await isProgram(path + ending)) return path + ending;
    if (await isFile(path)) throw startError(command, "it may not be executed", "EACCES", server);
    return undefined;
  }
  for (const folder of searchFolders(env.PATH ?? env.Path)) {
    for (const ending of endings) {
      const path = join(folder, command + ending);
      if (await isProgram(path)) return path;
    }
  }
  return undefined;
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

function startError(
  command: string,
  why: string,
  reason: string,
  server: string | undefined,
  place: { readonly hint?: string } = {},
): PortolanError {
  return new PortolanError("SERVER_START_FAILED", `cannot start "${command}": ${why}`, {
    server,
    data: { command, reason },
    ...place,
  });
}
