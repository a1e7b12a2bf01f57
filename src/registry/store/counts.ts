// Download counts: collected in memory, added to the file every few seconds. A crash loses a few counts, never the file.

import { removeLeftovers, writeAtomic } from "../../base/files/atomic-write.ts";
import { withFileLock } from "../../base/files/file-lock.ts";
import { readLimited } from "../../base/files/limited-read.ts";
import { isObject } from "../../model/index.ts";

const FLUSH_MS = 5_000;
const MAX_BYTES = 64 * 1024 * 1024;

export interface Counts {
  add(name: string, version: string): void;
  /** Downloads of a package by version. */
  of(name: string): Readonly<Record<string, number>>;
  total(name: string): number;
  flush(): Promise<void>;
  close(): Promise<void>;
}

type Table = Map<string, Map<string, number>>;

export async function openCounts(file: string, report: (error: unknown) => void): Promise<Counts> {
  let stored = await readTable(file);
  let pending: Table = new Map();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  const write = async (): Promise<void> => {
    if (pending.size === 0) return;
    const added = pending;
    pending = new Map();
    try {
      await withFileLock(file, async () => {
        await removeLeftovers(file);
        // Another process may have added counts.
        const table = await readTable(file);
        for (const [name, versions] of added)
          for (const [version, number] of versions) increase(table, name, version, number);
        await writeAtomic(file, Buffer.from(render(table)), { mode: 0o600 });
        stored = table;
      });
    } catch (error) {
      for (const [name, versions] of added)
        for (const [version, number] of versions) increase(pending, name, version, number);
      report(error);
    }
  };
  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    running = running.then(write);
    return running;
  };
  const of = (name: string): Record<string, number> => {
    const all: Record<string, number> = Object.fromEntries(stored.get(name) ?? []);
    for (const [version, number] of pending.get(name) ?? []) all[version] = (all[version] ?? 0) + number;
    return all;
  };
  return {
    add: (name, version) => {
      increase(pending, name, version, 1);
      timer ??= setTimeout(() => void flush(), FLUSH_MS).unref();
    },
    of,
    total: (name) => {
      let total = 0;
      for (const number of stored.get(name)?.values() ?? []) total += number;
      for (const number of pending.get(name)?.values() ?? []) total += number;
      return total;
    },
    flush,
    close: flush,
  };
}

function increase(table: Table, name: string, version: string, number: number): void {
  const versions = table.get(name) ?? new Map<string, number>();
  versions.set(version, (versions.get(version) ?? 0) + number);
  table.set(name, versions);
}

/** Counts are not worth a registry that does not start: a file that cannot be read counts as empty. */
async function readTable(file: string): Promise<Table> {
  const table: Table = new Map();
  try {
    const value: unknown = JSON.parse((await readLimited(file, MAX_BYTES)).toString("utf8"));
    for (const [name, versions] of Object.entries(isObject(value) ? value : {}))
      for (const [version, number] of Object.entries(isObject(versions) ? versions : {}))
        if (Number.isSafeInteger(number)) increase(table, name, version, number as number);
  } catch {
    // There is no file yet.
  }
  return table;
}

function render(table: Table): string {
  return JSON.stringify(
    Object.fromEntries([...table].map(([name, versions]) => [name, Object.fromEntries(versions)])),
  );
}
