// Era memory: remembers on disk which commands are legacy servers, so that the next start needs no probe.

import { type StdioEndpoint, toCommandLine } from "../../model/index.ts";

const MAX_AGE_MS = 7 * 24 * 3_600_000;
const MAX_ENTRIES = 500;

interface Verdict {
  readonly era: "legacy";
  /** A hash, because a server may repeat a secret in its version. */
  readonly serverVersion: string;
  readonly date: string;
}

export interface EraMemory {
  isLegacy(endpoint: StdioEndpoint): Promise<boolean>;
  /** Remembers the era of a connection. A changed server version or era deletes the entry. */
  remember(endpoint: StdioEndpoint, found: { legacy: boolean; serverVersion: string }): Promise<void>;
}

interface Note {
  readonly endpoint: StdioEndpoint;
  readonly legacy: boolean;
  readonly serverVersion: string;
}

/**
 * Keeps the memory in a file. When the file cannot be read or written, servers are probed at each start. Servers that start
 * together share one read and one write: with hundreds of servers, the file is large.
 */
export function createEraMemory(file?: string): EraMemory {
  const path = async (): Promise<string> => file ?? (await defaultFile());
  let reading: Promise<Record<string, Verdict>> | undefined;
  let notes: Note[] = [];
  // Writes are queued: one would overwrite the entries of another.
  let writing: Promise<void> = Promise.resolve();
  return {
    async isLegacy(endpoint) {
      reading ??= path()
        .then(load)
        .finally(() => (reading = undefined));
      const verdict = (await reading)[await key(endpoint)];
      return verdict !== undefined && Date.now() - Date.parse(verdict.date) < MAX_AGE_MS;
    },
    remember(endpoint, found) {
      notes.push({ endpoint, ...found });
      if (notes.length > 1) return writing;
      const write = async (): Promise<void> => {
        const taken = notes;
        notes = [];
        await noteAll(await path(), taken);
      };
      writing = writing.then(write).catch(() => {});
      return writing;
    },
  };
}

async function noteAll(file: string, notes: readonly Note[]): Promise<void> {
  const verdicts = await load(file);
  let hasChanged = false;
  for (const note of notes) if (await change(verdicts, note)) hasChanged = true;
  if (hasChanged) await save(file, verdicts);
}

/** Returns whether the verdicts have changed. */
async function change(verdicts: Record<string, Verdict>, { endpoint, ...found }: Note): Promise<boolean> {
  const name = await key(endpoint);
  const serverVersion = await digest(found.serverVersion);
  const known = verdicts[name];
  if (!found.legacy) {
    if (known === undefined) return false;
    delete verdicts[name];
  } else if (known === undefined || Date.now() - Date.parse(known.date) >= MAX_AGE_MS) {
    verdicts[name] = { era: "legacy", serverVersion, date: new Date().toISOString() };
  } else if (known.serverVersion === serverVersion) {
    return false;
  } else {
    // Another version of the same command may support the modern era, so it is probed next time.
    delete verdicts[name];
  }
  return true;
}

async function defaultFile(): Promise<string> {
  const [{ default: envPaths }, path] = await Promise.all([import("env-paths"), import("node:path")]);
  return path.join(envPaths("portolan", { suffix: "" }).cache, "eras.json");
}

async function key(endpoint: StdioEndpoint): Promise<string> {
  return digest(JSON.stringify([...Object.values(toCommandLine(endpoint)), endpoint.cwd ?? ""]));
}

async function digest(text: string): Promise<string> {
  const { createHash } = await import("node:crypto");
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

async function load(file: string): Promise<Record<string, Verdict>> {
  const { readFile } = await import("node:fs/promises");
  const verdicts: Record<string, Verdict> = Object.create(null) as Record<string, Verdict>;
  try {
    const parsed = JSON.parse(await readFile(file, "utf8")) as Record<string, Partial<Verdict>>;
    for (const [name, verdict] of Object.entries(parsed)) {
      const { serverVersion, date } = verdict;
      if (verdict.era === "legacy" && typeof serverVersion === "string" && typeof date === "string") {
        verdicts[name] = { era: "legacy", serverVersion, date };
      }
    }
  } catch {
    // Without a readable file nothing is remembered.
  }
  return verdicts;
}

async function save(file: string, verdicts: Record<string, Verdict>): Promise<void> {
  const [{ mkdir, rename, rm, writeFile }, path] = await Promise.all([
    import("node:fs/promises"),
    import("node:path"),
  ]);
  const newest = Object.entries(verdicts)
    .toSorted(([, a], [, b]) => b.date.localeCompare(a.date))
    .slice(0, MAX_ENTRIES);
  await mkdir(path.dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}.tmp`;
  try {
    await writeFile(temporary, `${JSON.stringify(Object.fromEntries(newest), null, 2)}\n`, {
      flag: "wx",
      mode: 0o600,
    });
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
