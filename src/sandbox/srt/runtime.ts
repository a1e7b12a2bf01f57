// Loads the srt package and manages its state, which is one per process: the first sandbox initialises it, the
// last one resets it.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { pathToFileURL } from "node:url";
import { lookUpProgram, runProgram } from "../../process/index.ts";

export const PACKAGE = "@anthropic-ai/sandbox-runtime";

const NPM_MS = 10_000;

export interface Filesystem {
  readonly denyRead: readonly string[];
  readonly allowRead: readonly string[];
  readonly allowWrite: readonly string[];
  readonly denyWrite: readonly string[];
}

/** The part of the package's API that Portolan uses. */
interface Runtime {
  readonly SandboxManager: {
    isSupportedPlatform(): boolean;
    checkDependenciesAsync(): Promise<{ readonly errors: readonly string[] }>;
    initialize(config: { network: object; filesystem: Filesystem }): Promise<void>;
    wrapWithSandbox(command: string, shell: string, config: { filesystem: Filesystem }): Promise<string>;
    cleanupAfterCommand(): void;
    reset(): Promise<void>;
  };
}

export type Manager = Runtime["SandboxManager"];

/** Where the package is searched for. */
export interface SrtPlaces {
  /** The module whose packages are searched first. */
  readonly from: string;
  /** The folder of globally installed packages. */
  readonly shared: () => Promise<string | undefined>;
}

export function createSession(places: SrtPlaces): {
  enter(): Promise<{ runtime: Manager; folder: string; leave: () => void }>;
} {
  let users = 0;
  let state: Promise<void> = Promise.resolve();
  return {
    enter: async () => {
      const { runtime, folder } = await loadRuntime(places);
      users += 1;
      let isIn = true;
      const leave = (): void => {
        if (!isIn) return;
        isIn = false;
        users -= 1;
        runtime.cleanupAfterCommand();
        if (users === 0)
          state = state.then(() => (users === 0 ? runtime.reset() : undefined)).catch(() => {});
      };
      const filesystem = { denyRead: ["/"], allowRead: [], allowWrite: [], denyWrite: [] };
      const begun = state.then(() =>
        runtime.initialize({ network: { allowedDomains: [], deniedDomains: [] }, filesystem }),
      );
      state = begun.catch(() => {});
      try {
        await begun;
      } catch (error) {
        leave();
        throw error;
      }
      return { runtime, folder, leave };
    },
  };
}

export async function loadRuntime(
  places: SrtPlaces,
): Promise<{ runtime: Manager; folder: string; version: string }> {
  const { folder, version } = await find(places);
  const entry = pathToFileURL(join(folder, "dist", "index.js")).href;
  const { SandboxManager: runtime } = (await import(entry)) as Runtime;
  return { runtime, folder, version };
}

/**
 * Resolved by hand, because the package exports `import` only and its folder must be granted. Never searches the
 * working folder: its author could run code in Portolan, outside of any sandbox.
 */
async function find({ from, shared }: SrtPlaces): Promise<{ folder: string; version: string }> {
  for (const modules of createRequire(from).resolve.paths(PACKAGE) ?? []) {
    const found = lookInto(modules);
    if (found !== undefined) return found;
  }
  const modules = await shared();
  const found = modules === undefined ? undefined : lookInto(modules);
  if (found !== undefined) return found;
  throw Object.assign(new Error(`${PACKAGE} is not installed.`), { code: "ENOENT" });
}

function lookInto(modules: string): { folder: string; version: string } | undefined {
  const folder = join(modules, PACKAGE);
  try {
    const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string };
    return { folder, version };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return undefined;
  }
}

/** The folder of `npm install -g`, which only npm knows. */
export async function sharedModules(): Promise<string | undefined> {
  const file = await lookUpProgram("npm");
  if (file === undefined) return undefined;
  // Settings of the working folder, or of an npm that started Portolan, are not the user's own.
  const { PATH = "", HOME = homedir(), NPM_CONFIG_PREFIX: prefix } = process.env;
  const env = { PATH, HOME, ...(prefix === undefined ? {} : { NPM_CONFIG_PREFIX: prefix }) };
  const asking = { file, args: ["root", "--global"], cwd: homedir(), env };
  const said = await runProgram(asking, { timeoutMs: NPM_MS }).catch(() => undefined);
  const folder = said?.stdout.trim() ?? "";
  return said?.code === 0 && isAbsolute(folder) ? folder : undefined;
}
