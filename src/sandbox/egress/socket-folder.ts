// Temporary folder for sockets that are mounted into sandboxes: private to the user, short enough for a socket
// address, removed when unused.

import { accessSync, constants, mkdtempSync, realpathSync, rm, rmSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isOwnerGone, ownerTag } from "../../process/index.ts";

const PREFIX = "portolan-egress-";
/** The longest path of a Unix socket, without its final zero byte. */
const MAX_SOCKET_PATH = 107;

/** Folders to remove at the exit of this process, which cleans up once. */
const open = new Set<string>();
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
  if (open.size === 0) process.once("exit", removeAll);
  const path = mkdtempSync(join(base, `${PREFIX}${ownerTag()}-`));
  open.add(path);
  return {
    ...{ path, socket: join(path, "proxy"), remove: () => remove(path) },
    removeSoon: () => rm(path, { recursive: true, force: true }, () => forget(path)),
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

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
  forget(path);
}

function forget(path: string): void {
  open.delete(path);
  if (open.size === 0) process.off("exit", removeAll);
}

function removeAll(): void {
  for (const path of open) rmSync(path, { recursive: true, force: true });
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
