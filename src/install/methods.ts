// Install methods of a server config, tried in order. None of them changes the user's system.

import { createHash } from "node:crypto";
import { chmod, mkdir, open, rename, rm } from "node:fs/promises";
import { basename, isAbsolute, join, resolve } from "node:path";
import { isProgram } from "../base/process/program-path.ts";
import { PortolanError, toPortolanError, type Report } from "../errors/index.ts";
import { programName, type InstallMethod } from "../model/index.ts";
import { safePath, unpack } from "./archive/unpack.ts";
import { download, type Progress } from "./download.ts";
import { installed, installNpm } from "./npm/package.ts";
import { openStore } from "./store/store.ts";

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
      warn(`${method.package} is kept apart for this program, not installed for the whole machine.`);
    return fromNpm(command, method.package, context);
  }
  if (method.method === "curl" || method.method === "download") return fromAddress(command, method, context);
  warn(`The install method "${method.method}" is not known and is skipped.`);
  return undefined;
}

async function vendored(path: string, { base = process.cwd() }: MethodContext): Promise<Obtained> {
  const file = isAbsolute(path) ? path : resolve(base, path);
  if (await isProgram(file)) return { file, args: [], folder: undefined, source: file };
  throw new PortolanError("INSTALL_FAILED", `${file} is not there, or may not be executed.`, {
    hint: `Put the program there, and make it executable: chmod +x.`,
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
      "The config has no SHA-256 for the download, so Portolan does not use it.",
      {
        hint: "Add the hash of the file to the config: sha256sum FILE.",
      },
    );
  if (!/^[0-9a-f]{64}$/i.test(sha256))
    throw new PortolanError("INSTALL_FAILED", `"${sha256}" is not a SHA-256: 64 hexadecimal digits.`);
  const wanted = method.method === "download" ? safePath(method.extractBin) : undefined;
  const store = openStore(root, "files");
  // The entry is found by its hash, not by its URL.
  const spec = `sha256:${sha256.toLowerCase()} ${wanted ?? ""}`;
  const record = await store.add(
    spec,
    async ({ folder }) => {
      const shown = `${new URL(url).host}${new URL(url).pathname}`;
      const what = `downloading ${shown}`;
      onProgress?.({ what });
      const file = join(folder, "download");
      await download({ url, sha256, file, signal, onBytes: (bytes) => onProgress?.({ what, bytes }) });
      onProgress?.({ what: `downloaded ${shown}` });
      const path = await toProgram(file, join(folder, "content"), wanted, programName(command), signal);
      const key = createHash("sha512").update(`${spec} ${path}`).digest("hex").slice(0, 64);
      return {
        name: path,
        version: sha256.slice(0, 12).toLowerCase(),
        integrity: `sha256:${sha256.toLowerCase()}`,
        key,
        sealed: [join("content", path)],
      };
    },
    { signal },
  );
  const folder = join(store.folderOf(record.key), "content");
  const { origin, pathname } = new URL(url);
  const source = `${origin}${pathname} ${record.integrity}`;
  return { file: join(folder, record.name), args: [], folder, source, integrity: record.integrity };
}

/** Moves the program and the files beside it into `content`, and returns its path there. */
async function toProgram(
  file: string,
  content: string,
  wanted: string | undefined,
  name: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  await mkdir(content, { mode: 0o755 });
  const files = wanted === undefined ? false : await unpack(file, content, undefined, signal);
  if (files === false) {
    await refuseScript(file);
    const path = safePath(wanted === undefined ? name : basename(wanted));
    await rename(file, join(content, path));
    await chmod(join(content, path), 0o755);
    return path;
  }
  await rm(file);
  const ending = files.filter((path) => path.endsWith(`/${wanted}`));
  const path = files.find((path) => path === wanted) ?? (ending.length === 1 ? ending[0] : undefined);
  if (path === undefined)
    throw ending.length > 1
      ? new PortolanError("INSTALL_FAILED", `The archive contains several files "${wanted}".`, {
          hint: `Give the whole path of one of them: ${ending.slice(0, 10).join(", ")}.`,
        })
      : new PortolanError("INSTALL_FAILED", `The archive contains no "${wanted}".`, {
          hint: `It contains: ${files.slice(0, 10).join(", ")}.`,
        });
  await chmod(join(content, path), 0o755);
  return path;
}

/** A shell script that is downloaded to be run would install something for the whole machine. */
async function refuseScript(path: string): Promise<void> {
  const file = await open(path, "r");
  const head = Buffer.alloc(64);
  try {
    await file.read(head, 0, head.length, 0);
  } finally {
    await file.close();
  }
  if (!/^#!.*\b(?:ba|da|z|k)?sh\b/.test(head.toString("latin1"))) return;
  throw new PortolanError("INSTALL_FAILED", "The download is a shell script, which is not run.", {
    hint: "If it installs the program: read it, and run it yourself.",
  });
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
