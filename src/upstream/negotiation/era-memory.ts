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

/** Keeps the memory in a file. When the file cannot be read or written, servers are probed at each start. */
export function createEraMemory(file?: string): EraMemory {
  const path = async (): Promise<string> => file ?? (await defaultFile());
  // Writes are queued: servers that start together would overwrite each other's entries.
  let writing: Promise<void> = Promise.resolve();
  return {
    async isLegacy(endpoint) {
      const verdict = (await load(await path()))[await key(endpoint)];
      return verdict !== undefined && Date.now() - Date.parse(verdict.date) < MAX_AGE_MS;
    },
    remember(endpoint, found) {
      writing = writing.then(async () => note(await path(), endpoint, found)).catch(() => {});
      return writing;
    },
  };
}

async function note(
  file: string,
  endpoint: StdioEndpoint,
  { legacy, serverVersion: version }: { legacy: boolean; serverVersion: string },
): Promise<void> {
  const verdicts = await load(file);
  const name = await key(endpoint);
  const serverVersion = await digest(version);
  const known = verdicts[name];
  if (!legacy) {
    if (known === undefined) return;
    delete verdicts[name];
  } else if (known === undefined || Date.now() - Date.parse(known.date) >= MAX_AGE_MS) {
    verdicts[name] = { era: "legacy", serverVersion, date: new Date().toISOString() };
  } else if (known.serverVersion === serverVersion) {
    return;
  } else {
    // Another version of the same command may support the modern era, so it is probed next time.
    delete verdicts[name];
  }
  await save(file, verdicts);
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
