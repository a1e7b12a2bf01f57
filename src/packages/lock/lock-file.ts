// The lock file of a workspace: read with positions, rendered in a stable order, and changed atomically between processes.

import { join } from "node:path";
import { removeLeftovers, writeAtomic } from "../../base/files/atomic-write.ts";
import { withFileLock } from "../../base/files/file-lock.ts";
import { readLimited } from "../../base/files/limited-read.ts";
import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import { Diagnostics, readJson } from "../../formats/document/index.ts";
import { LOCK_NAME } from "../../formats/manifest/index.ts";
import { type Lock, LOCK, type LockedServer } from "./schema.ts";

/** A lock file with the pins of ten thousand tools is smaller. */
const MAX_BYTES = 16 * 1024 * 1024;

const EMPTY: Lock = { lockfileVersion: 1, servers: {} };

export interface LockResult {
  /** Absent if the file has errors. */
  readonly lock?: Lock;
  readonly diagnostics: readonly Diagnostic[];
}

export function lockFileOf(folder: string): string {
  return join(folder, LOCK_NAME);
}

export function parseLock(content: string, file: string): LockResult {
  const { root, diagnostics: syntax } = readJson(content, file);
  if (root === undefined) return { diagnostics: syntax };
  const diagnostics = new Diagnostics(file, syntax);
  const lock = LOCK.read(root, { diagnostics, folder: "." });
  return { lock: diagnostics.hasErrorIn(root) ? undefined : lock, diagnostics: diagnostics.sorted() };
}

/**
 * Sorted by key, one line for each pin: two branches that pin different tools merge without a conflict. An older and a
 * newer Portolan write the same text for the same content.
 */
export function renderLock({ servers }: Lock): string {
  const sorted = sortedEntries(servers).map(([alias, server]) => [alias, renderServer(server)]);
  return `${JSON.stringify({ lockfileVersion: 1, servers: Object.fromEntries(sorted) }, undefined, 2)}\n`;
}

function renderServer({ package: from, tools }: LockedServer): object {
  return {
    package: from && {
      name: from.name,
      version: from.version,
      source: from.source,
      integrity: from.integrity,
      metadata: from.metadata,
      registry: from.registry,
      dependencies: from.dependencies && [...from.dependencies].sort(),
      contracts: from.contracts && [...from.contracts].sort(),
      provenance: from.provenance,
      permissions: from.permissions && [...from.permissions].sort(),
      lockedAt: from.lockedAt,
    },
    tools: tools && sortedEntries(tools).map(([name, hash]) => `${name} ${hash}`),
  };
}

function sortedEntries<T>(map: Readonly<Record<string, T>>): [string, T][] {
  return Object.entries(map).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

/** Returns an empty lock if there is no file. Throws if it is broken: pins that cannot be read must not count as absent. */
export async function readLock(file: string): Promise<Lock> {
  const text = await readLockText(file);
  return text === undefined ? EMPTY : parseWhole(text, file);
}

async function readLockText(file: string): Promise<string | undefined> {
  try {
    return (await readLimited(file, MAX_BYTES)).toString("utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new PortolanError("FILE_FAILED", `${file} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function parseWhole(content: string, file: string): Lock {
  const { lock, diagnostics } = parseLock(content, file);
  if (lock !== undefined) return lock;
  const [first] = diagnostics.filter(({ severity }) => severity === "error");
  const place = first?.line === undefined ? "" : `:${first.line}:${first.column ?? 1}`;
  throw new PortolanError("FILE_INVALID", `${file}${place}: ${first?.message ?? "it is not a lock file"}`, {
    hint: "Restore portolan.lock from version control (git checkout portolan.lock), or resolve the conflicts of a merge in it.",
    data: { problems: diagnostics },
  });
}

/**
 * Changes the lock file while no other process does. `change` gets the present content; the file is written only if the
 * content differs. After a failure the old file is unchanged. `onWrite` gets the texts of a file that was written.
 */
export async function updateLock(
  file: string,
  change: (lock: Lock) => Lock | Promise<Lock>,
  onWrite?: (before: string, after: string) => void,
): Promise<Lock> {
  return withFileLock(file, async () => {
    await removeLeftovers(file);
    const text = await readLockText(file);
    const before = text === undefined ? EMPTY : parseWhole(text, file);
    const after = await change(before);
    const content = renderLock(after);
    if (content === renderLock(before)) return before;
    try {
      await writeAtomic(file, Buffer.from(content), { mode: 0o644 });
    } catch (error) {
      throw new PortolanError("FILE_FAILED", `${file} cannot be written: ${(error as Error).message}`, {
        cause: error,
      });
    }
    onWrite?.(text ?? "", content);
    return after;
  });
}
