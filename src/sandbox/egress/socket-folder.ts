// Temporary folder for sockets that are mounted into sandboxes: private to the user, short enough for a socket
// address, removed when unused.

import { accessSync, constants, mkdtempSync, realpathSync, rm, rmSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atExit, isOwnerGone, ownerTag } from "../../process/index.ts";

const PREFIX = "portolan-egress-";
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
  const base = baseFolder();
  // Not awaited: all programs of the machine share the base folder, which may be large.
  if (!isTidied) void removeStaleFolders(base);
  isTidied = true;
  const path = mkdtempSync(join(base, `${PREFIX}${ownerTag()}-`));
  const remove = (): void => rmSync(path, { recursive: true, force: true });
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
    const owner = /^(\d+\.\d+\.\d+)-/.exec(name.startsWith(PREFIX) ? name.slice(PREFIX.length) : "")?.[1];
    if (owner === undefined || !isOwnerGone(owner)) continue;
    try {
      rmSync(join(base, name), { recursive: true, force: true });
    } catch {
      // The folder belongs to another user.
    }
  }
}

function baseFolder(): string {
  const longest = `/${PREFIX}${ownerTag()}-XXXXXX/n9999999`;
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
