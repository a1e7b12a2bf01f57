// Folders of running gateways: their state files, their logs, and the private folder of a socket.

import { createHash } from "node:crypto";
import { chmod, lstat, mkdir, mkdtemp, realpath, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { privacyHint, privacyProblem } from "../../base/files/privacy.ts";
import { PortolanError } from "../../errors/index.ts";

const PREFIX = "portolan-";
const SOCKET = "s";
/** The path of a Unix socket has at most 103 bytes on every system. */
const MAX_SOCKET_PATH = 103;

/** The folder of the state files of a workspace. `path` is its folder, or the config file that it consists of. */
export async function stateFolder(path: string): Promise<string> {
  return join(await runningFolder(), await keyOf(path));
}

/** The folder of the state files of all workspaces, each in a folder of its own. */
export async function runningFolder(): Promise<string> {
  return join((await paths()).data, "running");
}

/** The folder of the logs of a workspace's gateway. */
export async function logFolder(path: string): Promise<string> {
  const { log } = await paths();
  return join(
    log,
    `${basename(resolve(path)).replaceAll(/[^\w.-]/g, "_")}-${(await keyOf(path)).slice(0, 8)}`,
  );
}

/** Creates a folder that only this user can enter. An own folder that others could only read is made private. */
export async function createPrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw unwritableFolder(folder, error, "On Linux, XDG_DATA_HOME sets another folder for Portolan's data.");
  });
  const found = await lstat(folder);
  const isOwn = found.isDirectory() && found.uid === process.getuid?.();
  // Others may have put files into a folder that they could write.
  if (isOwn && (found.mode & 0o077) !== 0 && (found.mode & 0o022) === 0) await chmod(folder, 0o700);
  const problem = await privacyProblem(folder);
  if (problem !== undefined)
    throw new PortolanError(
      "FILE_FAILED",
      `the folder ${folder} for the state of running gateways cannot be used: ${problem}`,
      {
        hint: privacyHint(folder, problem, "on Linux, set XDG_DATA_HOME to a folder that belongs to you."),
      },
    );
}

/** The error about a folder that cannot be created, or in which no file can be written. `hint` says how to set another folder. */
export function unwritableFolder(folder: string, cause: unknown, hint: string): PortolanError {
  const message = `the folder ${folder} cannot be written: ${(cause as Error).message}`;
  return new PortolanError("FILE_FAILED", message, {
    cause,
    hint: `Use a folder that this user can write. ${hint}`,
  });
}

/** A path for a new socket, in a new private folder. On Windows, the name of a pipe. */
export async function createSocketPath(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  if (process.platform === "win32") return `\\\\.\\pipe\\${PREFIX}${globalThis.crypto.randomUUID()}`;
  const bases = [env["XDG_RUNTIME_DIR"] ?? "", tmpdir(), "/tmp"].filter(
    (base) =>
      base.startsWith("/") && Buffer.byteLength(join(base, `${PREFIX}XXXXXX`, SOCKET)) <= MAX_SOCKET_PATH,
  );
  let failure: unknown;
  for (const base of bases) {
    try {
      // A new folder of mode 0700: no other user can have prepared it.
      return join(await mkdtemp(join(base, PREFIX)), SOCKET);
    } catch (error) {
      failure = error;
    }
  }
  throw new PortolanError(
    "FILE_FAILED",
    "Portolan cannot create a folder for the control socket of the gateway",
    {
      hint: "Set XDG_RUNTIME_DIR or TMPDIR to a folder that you can write to.",
      cause: failure,
    },
  );
}

/** Why the folder of a socket cannot be trusted; undefined if it can. */
export async function socketProblem(socket: string): Promise<string | undefined> {
  if (process.platform === "win32") return undefined;
  try {
    return await privacyProblem(dirname(socket));
  } catch {
    return "it does not exist";
  }
}

/** Removes a socket and its folder. Anything else in the folder stays. */
export async function removeSocket(socket: string): Promise<void> {
  const folder = dirname(socket);
  if (process.platform === "win32" || basename(socket) !== SOCKET || !basename(folder).startsWith(PREFIX))
    return;
  if ((await socketProblem(socket)) !== undefined) return;
  await rm(socket, { force: true }).catch(() => {});
  await rmdir(folder).catch(() => {});
}

async function keyOf(path: string): Promise<string> {
  const real = await realpath(resolve(path)).catch(() => resolve(path));
  return createHash("sha256").update(real).digest("hex").slice(0, 32);
}

async function paths(): Promise<{ readonly data: string; readonly log: string }> {
  const { default: envPaths } = await import("env-paths");
  return envPaths("portolan", { suffix: "" });
}
