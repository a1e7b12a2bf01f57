// Write history: which servers could have written a file, by the sandbox policies they were started with.

import { stat } from "node:fs/promises";
import { depth, isInside, resolvePath } from "./paths/paths.ts";
import type { SandboxPolicy } from "./types.ts";

interface Cover {
  readonly path: string;
  /**
   * The file's identity when it was covered. If it is replaced outside of the sandbox, the cover no longer
   * protects it.
   */
  readonly identity: string | undefined;
}

interface Writer {
  readonly server: string;
  readonly written: readonly string[];
  readonly covers: readonly Cover[];
  /** Covers that have been lost. */
  readonly lost: Set<string>;
}

export interface WriteHistory {
  /** Records the policy that a server is started with. Entries stay when a server ends, because its files stay. */
  readonly record: (server: string, policy: SandboxPolicy) => Promise<void>;
  /** The first server that could have written this file, or created a link to it. */
  readonly writerOf: (file: string) => Promise<string | undefined>;
}

export function createWriteHistory(): WriteHistory {
  const writers = new Map<string, Writer>();
  return {
    async record(server, { mounts }) {
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
    },
    async writerOf(file) {
      if (writers.size === 0) return undefined;
      const { links, end } = await resolvePath(file);
      for (const writer of writers.values())
        for (const path of [...links, end]) if (await mayWrite(writer, path)) return writer.server;
      return undefined;
    },
  };
}

async function mayWrite({ written, covers, lost }: Writer, path: string): Promise<boolean> {
  const around = (folders: readonly string[]): number =>
    Math.max(-1, ...folders.filter((folder) => isInside(path, folder)).map(depth));
  const outer = around(written);
  if (outer === -1) return false;
  for (const cover of covers) {
    if (!isInside(path, cover.path) || depth(cover.path) < outer || lost.has(cover.path)) continue;
    if (cover.identity !== undefined && cover.identity === (await identityOf(cover.path))) return false;
    // The inode number of a deleted file may be reused.
    lost.add(cover.path);
  }
  return true;
}

async function identityOf(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found && `${found.dev}:${found.ino}:${found.birthtimeNs}`;
}
