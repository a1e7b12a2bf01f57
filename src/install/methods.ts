// Install methods of a server config, tried in order. None of them changes the user's system.

import { isAbsolute, resolve } from "node:path";
import { shellWord } from "../base/text/command-line.ts";
import { parseIntegrity } from "../base/text/integrity.ts";
import { isProgram } from "../base/process/program-path.ts";
import { PortolanError, toPortolanError, type Report } from "../errors/index.ts";
import { programName, type InstallMethod } from "../model/index.ts";
import type { Progress } from "./download.ts";
import { installFile } from "./files.ts";
import { installed, installNpm } from "./npm/package.ts";

export interface MethodContext {
  readonly server: string;
  readonly root: string;
  readonly report: Report;
  /** The folder that relative paths of the config start from. */
  readonly base?: string;
  /** Downloads again what may have changed. */
  readonly update?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  readonly env?: NodeJS.ProcessEnv;
}

/** A program that an install method provided. */
export interface Obtained {
  readonly file: string;
  /** Arguments before the server's own. */
  readonly args: readonly string[];
  /** The folder that the program needs; undefined if it has no folder of its own. */
  readonly folder: string | undefined;
  /** Human-readable: a package with its version, a URL with its hash, or a path. */
  readonly source: string;
  readonly version?: string;
  readonly integrity?: string;
}

/**
 * Returns the first program that can be installed. If none can, the error contains all reasons and the commands
 * that would help.
 */
export async function obtain(
  command: string,
  methods: readonly InstallMethod[],
  context: MethodContext,
): Promise<Obtained> {
  const problems: PortolanError[] = [];
  const commands: string[] = [];
  for (const method of methods) {
    const forUser = systemCommand(method);
    if (forUser !== undefined) {
      if (forUser.here) commands.push(forUser.command);
      continue;
    }
    try {
      const found = await tryMethod(command, method, context);
      if (found !== undefined) return found;
    } catch (error) {
      context.signal?.throwIfAborted();
      problems.push(toPortolanError(error, { server: context.server }));
    }
  }
  const [first] = problems;
  if (first !== undefined && problems.length === 1 && commands.length === 0) throw first;
  const reasons = problems.map(({ message }) => message).join(" ");
  const hint = commands.length === 0 ? problems.at(-1)?.hint : `Install it: ${commands.join(", or ")}.`;
  throw new PortolanError("INSTALL_FAILED", `"${command}" is not installed.${reasons && ` ${reasons}`}`, {
    server: context.server,
    hint,
    cause: first,
    data: { command, commands, reasons: problems.map(({ message }) => message) },
  });
}

/** Undefined: the method cannot be used here, which has been reported. */
async function tryMethod(
  command: string,
  method: InstallMethod,
  context: MethodContext,
): Promise<Obtained | undefined> {
  const warn = (message: string, hint?: string): void =>
    context.report({ code: "INSTALL_FAILED", severity: "warning", message, hint, server: context.server });
  if (method.method === "vendored") return vendored(method.path, context);
  if (method.method === "npm") {
    if (method.global === true)
      warn(
        `Portolan ignores global: true and installs ${method.package} into its own store, not for the whole machine.`,
      );
    return fromNpm(command, method.package, context);
  }
  if (method.method === "curl" || method.method === "download") return fromAddress(command, method, context);
  warn(`Portolan does not know the install method "${method.method}", and skips it.`);
  return undefined;
}

async function vendored(path: string, { base = process.cwd() }: MethodContext): Promise<Obtained> {
  const file = isAbsolute(path) ? path : resolve(base, path);
  if (await isProgram(file)) return { file, args: [], folder: undefined, source: file };
  throw new PortolanError("INSTALL_FAILED", `${file} does not exist, or is not executable.`, {
    hint: `Put the program there, and make it executable: chmod +x ${shellWord(file)}`,
  });
}

/** The program has the name of the command, or is the package's only one. */
async function fromNpm(command: string, spec: string, context: MethodContext): Promise<Obtained> {
  const { root, server, signal, onProgress, env, update } = context;
  const options = { spec, root, server, signal, onProgress, env };
  // The package is installed once and inspected twice.
  const own = await installNpm({ ...options, update, bin: programName(command) }).catch((error: unknown) => {
    if ((error as PortolanError).data?.programs === undefined) throw error;
    return undefined;
  });
  const found = own ?? (await installed(options)) ?? (await installNpm(options));
  const { file, args, folder, name, version, integrity } = found;
  return { file, args, folder, source: `${name}@${version} ${integrity}`, version, integrity };
}

async function fromAddress(
  command: string,
  method: Extract<InstallMethod, { method: "curl" | "download" }>,
  { root, signal, onProgress }: MethodContext,
): Promise<Obtained> {
  const { url, sha256 } = method;
  if (sha256 === undefined)
    throw new PortolanError(
      "INSTALL_FAILED",
      "The config has no SHA-256 hash for the download, so Portolan does not download the file.",
      {
        hint: "Add the hash of the file to the config: sha256sum FILE prints it.",
      },
    );
  const integrity = /^[0-9a-f]{64}$/i.test(sha256) ? parseIntegrity(sha256) : undefined;
  if (integrity === undefined)
    throw new PortolanError(
      "INSTALL_FAILED",
      `"${sha256}" is not a SHA-256 hash, which has 64 hexadecimal digits.`,
      { hint: "Correct the hash in the config: sha256sum FILE prints it." },
    );
  const name = programName(command);
  const content =
    method.method === "download"
      ? ({ kind: "archive", program: method.extractBin } as const)
      : ({ kind: "file", program: name } as const);
  const found = await installFile({ urls: [url], integrity, content, root, signal, onProgress });
  const { origin, pathname } = new URL(url);
  const written = `sha256:${sha256.toLowerCase()}`;
  return { ...found, args: [], source: `${origin}${pathname} ${written}`, integrity: written };
}

interface Manager {
  readonly words: string;
  /** The platforms that have it. Default: all. */
  readonly on?: readonly NodeJS.Platform[];
}

const MANAGERS: Readonly<Record<string, Manager>> = {
  brew: { words: "brew install", on: ["darwin", "linux"] },
  apt: { words: "sudo apt-get install", on: ["linux"] },
  dnf: { words: "sudo dnf install", on: ["linux"] },
  pacman: { words: "sudo pacman -S", on: ["linux"] },
  choco: { words: "choco install", on: ["win32"] },
  scoop: { words: "scoop install", on: ["win32"] },
  cargo: { words: "cargo install" },
  go: { words: "go install" },
  pip: { words: "pip install" },
};
/** The user copies the command into a shell. */
const PLAIN = /^[A-Za-z0-9@][\w@./+:=~-]*$/;

/**
 * The command of a system package manager. It would change the whole machine, so that Portolan only shows it.
 * Undefined for methods that Portolan carries out itself.
 */
export function systemCommand(
  method: InstallMethod,
  platform: NodeJS.Platform = process.platform,
): { readonly command: string; readonly here: boolean } | undefined {
  const manager = MANAGERS[method.method];
  if (manager === undefined || !("package" in method)) return undefined;
  const words = method.method === "pip" && method.user === true ? `${manager.words} --user` : manager.words;
  const name =
    method.method === "go" && !method.package.includes("@") ? `${method.package}@latest` : method.package;
  const here = (manager.on?.includes(platform) ?? true) && PLAIN.test(name);
  return { command: `${words} ${name}`, here };
}
