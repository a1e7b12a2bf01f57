// Which servers may have written a file: every box of this program that could be written from, with what was covered in it.

import { stat } from "node:fs/promises";
import { depth, isInside, wayTo } from "./paths/paths.ts";
import type { Box } from "./types.ts";

interface Cover {
  readonly path: string;
  /** What was there when it was covered. Who puts something else in its place, outside of the box, takes the cover away. */
  readonly identity: string | undefined;
}

interface Writer {
  readonly server: string;
  readonly written: readonly string[];
  readonly covers: readonly Cover[];
  /** Covers that are known to be gone. */
  readonly lost: Set<string>;
}

/** Not taken back when a server ends: what it has written stays. */
const writers = new Map<string, Writer>();

export async function noteWriter(server: string, { mounts }: Box): Promise<void> {
  const written = mounts.filter(({ access }) => access === "write").map(({ path }) => path);
  if (written.length === 0) return;
  const inner = mounts.filter(
    ({ path, access }) => access !== "write" && written.some((folder) => isInside(path, folder)),
  );
  const covers = await Promise.all(
    inner.map(async ({ path }) => ({ path, identity: await identityOf(path) })),
  );
  const key = JSON.stringify([server, written, covers]);
  if (!writers.has(key)) writers.set(key, { server, written, covers, lost: new Set() });
}

/** The first server that may have written this file, or laid it there, if any may. */
export async function writerOf(file: string): Promise<string | undefined> {
  if (writers.size === 0) return undefined;
  const { links, end } = await wayTo(file);
  const way = [...links, end];
  for (const writer of writers.values())
    for (const path of way) if (await mayWrite(writer, path)) return writer.server;
  return undefined;
}

async function mayWrite({ written, covers, lost }: Writer, path: string): Promise<boolean> {
  const around = (folders: readonly string[]): number =>
    Math.max(-1, ...folders.filter((folder) => isInside(path, folder)).map(depth));
  const outer = around(written);
  if (outer === -1) return false;
  for (const cover of covers) {
    if (!isInside(path, cover.path) || depth(cover.path) < outer || lost.has(cover.path)) continue;
    if (cover.identity !== undefined && cover.identity === (await identityOf(cover.path))) return false;
    // The number of what is gone may be given to something new.
    lost.add(cover.path);
  }
  return true;
}

async function identityOf(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found && `${found.dev}:${found.ino}:${found.birthtimeNs}`;
}
