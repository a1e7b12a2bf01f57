// Finds the program file of a command as the operating system would, without running it and without searching the
// current folder. Shims of version managers are resolved to the program that they would run.

import { stat, access, readdir, readFile } from "node:fs/promises";
import { join, resolve, basename, dirname } from "node:path";
import { isProgram, searchFolders, windowsEndings } from "../base/process/program-path.ts";
import { shellWord } from "../base/text/command-line.ts";
import { askAbout, PortolanError, suggest } from "../errors/index.ts";

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
      hint:
        (await argumentsHint(command, options)) ??
        [
          (await similarPrograms(command, options)) ?? "Check the spelling,",
          "install the program, or give its full path.",
        ].join(" "),
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

/** The hint for a whole command line in place of a program; undefined if its first word is no program either. */
async function argumentsHint(command: string, options: FindOptions): Promise<string | undefined> {
  const [first = "", ...rest] = command.trim().split(/\s+/);
  if (rest.length === 0 || (await lookUpProgram(first, options)) === undefined) return undefined;
  const args = rest.map((word) => JSON.stringify(word)).join(", ");
  return `The command must be the program alone: put ${rest.join(" ")} into args, as in command: ${JSON.stringify(first)}, args: [${args}].`;
}

/** `Did you mean "node"? If not,` for `nodee`; undefined if no program on the PATH has a similar name. */
async function similarPrograms(
  command: string,
  { env = process.env }: FindOptions,
): Promise<string | undefined> {
  if (/[/\\]/.test(command)) return undefined;
  const folders = await Promise.all(
    searchFolders(env.PATH ?? env.Path).map((folder) => readdir(folder).catch(() => [])),
  );
  const names = folders.flat().map((name) => (windows ? name.replace(/\.(?:com|exe|bat|cmd)$/i, "") : name));
  const question = askAbout(suggest(command, new Set(names), 1));
  return question === undefined ? undefined : `${question} If not,`;
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
    if (await isFile(path))
      throw startError(command, "the file is not executable", "EACCES", server, {
        hint: `Make the file executable (chmod +x ${shellWord(path)}), or name the program that runs it, such as node or python3.`,
      });
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
  place: { readonly hint: string },
): PortolanError {
  return new PortolanError("SERVER_START_FAILED", `cannot start "${command}": ${why}`, {
    server,
    data: { command, reason },
    ...place,
  });
}

/**
 * Resolves a shim of pyenv, rbenv or nodenv. Returns the real program, as the environment and the version files
 * choose it, or the file itself if it is no shim.
 */
export async function resolveShim(
  file: string,
  cwd: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<string> {
  const root = dirname(dirname(file));
  const manager = /^\.?(py|rb|nod)env$/.exec(basename(root))?.[1];
  if (basename(dirname(file)) !== "shims" || manager === undefined) return file;
  const { variable, local } = NAMES[manager as keyof typeof NAMES];
  const chosen = environment[variable] ?? (await nearest(cwd, local)) ?? (await text(join(root, "version")));
  for (const version of chosen?.split(/[\s:]+/) ?? []) {
    const program = join(root, "versions", version, "bin", basename(file));
    const found = await access(program).then(
      () => true,
      () => false,
    );
    // The server may be able to write the version file, so that a version must not contain a path.
    if (/^[^/.][^/]*$/.test(version) && found) return program;
  }
  return file;
}

const NAMES = {
  py: { variable: "PYENV_VERSION", local: ".python-version" },
  rb: { variable: "RBENV_VERSION", local: ".ruby-version" },
  nod: { variable: "NODENV_VERSION", local: ".node-version" },
};

async function nearest(folder: string, name: string): Promise<string | undefined> {
  for (let at = folder; ; at = dirname(at)) {
    const found = await text(join(at, name));
    if (found !== undefined || at === dirname(at)) return found;
  }
}

async function text(file: string): Promise<string | undefined> {
  return (await readFile(file, "utf8").catch(() => undefined))?.trim();
}
