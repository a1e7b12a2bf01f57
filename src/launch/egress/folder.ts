// A folder of its own for each gate's socket: only this user's, with a path that fits a socket address, gone when it is not needed.

import { accessSync, constants, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isOwnerGone, ownerTag } from "../process/orphans.ts";

const PREFIX = "portolan-egress-";
/** What a socket's address can hold, less the zero at its end. */
const MAX_SOCKET_PATH = 107;

const open = new Set<string>();
let isTidied = false;

export interface SocketFolder {
  readonly path: string;
  readonly socket: string;
  remove(): void;
}

export function createSocketFolder(): SocketFolder {
  const base = baseFolder();
  if (!isTidied) removeStaleFolders(base);
  isTidied = true;
  if (open.size === 0) process.once("exit", removeAll);
  const path = mkdtempSync(join(base, `${PREFIX}${ownerTag()}-`));
  open.add(path);
  return { path, socket: join(path, "gate"), remove: () => remove(path) };
}

/** Those of programs that ended without a chance to tidy up. */
export function removeStaleFolders(base: string = baseFolder()): void {
  for (const name of readdirSync(base)) {
    const owner = /^(\d+\.\d+\.\d+)-/.exec(name.startsWith(PREFIX) ? name.slice(PREFIX.length) : "")?.[1];
    if (owner === undefined || !isOwnerGone(owner)) continue;
    try {
      rmSync(join(base, name), { recursive: true, force: true });
    } catch {
      // Another user's.
    }
  }
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
  open.delete(path);
  if (open.size === 0) process.off("exit", removeAll);
}

function removeAll(): void {
  for (const path of open) rmSync(path, { recursive: true, force: true });
}

function baseFolder(): string {
  const longest = `/${PREFIX}${ownerTag()}-XXXXXX/gate`;
  for (const place of [process.env.XDG_RUNTIME_DIR, tmpdir()]) {
    try {
      const base = realpathSync(place ?? "");
      if (place === undefined || Buffer.byteLength(base + longest) > MAX_SOCKET_PATH) continue;
      accessSync(base, constants.W_OK | constants.X_OK);
      return base;
    } catch {
      // Not there, or another user's.
    }
  }
  return "/tmp";
}
