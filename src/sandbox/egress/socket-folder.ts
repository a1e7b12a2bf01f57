// Temporary folder for sockets that are mounted into sandboxes: private to the user, short enough for a socket
// address, removed when unused. All of them are in one folder of the user, which is never removed: a sandbox that
// shows the temporary folder covers it, and could not do so if it disappeared in the meantime.

import {
  accessSync,
  constants,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rm,
  rmdirSync,
  unlinkSync,
} from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atExit, isOwnerGone, ownerTag } from "../../process/index.ts";

const USER_FOLDER = `portolan-egress-${process.getuid?.() ?? "user"}`;
/** The longest path of a Unix socket, without its final zero byte. */
const MAX_SOCKET_PATH = 107;

/** Folders of ended processes are removed once per process: they belong to the machine, not to a workspace. */
let isTidied = false;

export interface SocketFolder {
  readonly path: string;
  readonly socket: string;
  remove(): void;
  /** Removes the folder asynchronously. */
  removeSoon(): void;
}

export function createSocketFolder(): SocketFolder {
  const base = userFolder();
  // Not awaited: a start does not wait for the remains of other programs.
  if (!isTidied) void removeStaleFolders(base);
  isTidied = true;
  const path = mkdtempSync(join(base, `${ownerTag()}-`));
  const remove = (): void => removeFolder(path);
  const forget = atExit(remove);
  return {
    ...{ path, socket: join(path, "proxy") },
    remove: () => {
      remove();
      forget();
    },
    removeSoon: () => rm(path, { recursive: true, force: true }, forget),
  };
}

/** Removes the folders of processes that ended without removing them. */
export async function removeStaleFolders(base: string): Promise<void> {
  for (const name of await readdir(base).catch(() => [])) {
    const owner = /^(\d+\.\d+\.\d+)-/.exec(name)?.[1];
    if (owner === undefined || !isOwnerGone(owner)) continue;
    removeFolder(join(base, name));
  }
}

/**
 * Removes a folder of sockets. `rmSync` reads the state of each socket first, and Node 20 then resolves the next `import()` of a
 * package to a symbolic link instead of its target, so that the package is loaded without its exports (in pnpm's layout, for example).
 */
function removeFolder(path: string): void {
  try {
    for (const name of readdirSync(path)) unlinkSync(join(path, name));
    rmdirSync(path);
  } catch {
    // It is gone already, or belongs to another user.
  }
}

/** The folder of this user; if another user has taken its name, a folder with a random name. */
function userFolder(): string {
  const base = baseFolder();
  const path = join(base, USER_FOLDER);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch {
    // The folder exists: a program of this user has created it before.
  }
  return isOwnFolder(path) ? path : mkdtempSync(join(base, `${USER_FOLDER}-`));
}

/** Whether only this user can change the entries of the folder; the entries themselves are private. */
function isOwnFolder(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory() !== true) return false;
  return process.getuid === undefined || (stats.uid === process.getuid() && (stats.mode & 0o022) === 0);
}

function baseFolder(): string {
  const longest = `/${USER_FOLDER}-XXXXXX/${ownerTag()}-XXXXXX/n9999999`;
  for (const place of [process.env.XDG_RUNTIME_DIR, tmpdir()]) {
    try {
      const base = realpathSync(place ?? "");
      if (place === undefined || Buffer.byteLength(base + longest) > MAX_SOCKET_PATH) continue;
      accessSync(base, constants.W_OK | constants.X_OK);
      return base;
    } catch {
      // The folder is missing, or belongs to another user.
    }
  }
  return "/tmp";
}
