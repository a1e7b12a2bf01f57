// The package of srt as it is found here, and its one state for the whole process: begun with the first box, ended with the last.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { pathToFileURL } from "node:url";
import { lookForProgram, runPlain } from "../../process/index.ts";

export const PACKAGE = "@anthropic-ai/sandbox-runtime";

const NPM_MS = 10_000;

export interface Filesystem {
  readonly denyRead: readonly string[];
  readonly allowRead: readonly string[];
  readonly allowWrite: readonly string[];
  readonly denyWrite: readonly string[];
}

/** As much of the package as is used. */
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

/** Where the package is looked for. */
export interface SrtPlaces {
  /** The module whose packages are searched first. */
  readonly from: string;
  /** The folder of packages that are installed for all programs. */
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
 * By hand: the package shows `import` only, and its helper programs must be in the box, so its folder must be known.
 * Never in the folder that is worked in: whoever wrote that would run code in this program, outside of any box.
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

/** Where `npm install -g` puts packages; only npm itself knows. */
export async function sharedModules(): Promise<string | undefined> {
  const file = await lookForProgram("npm");
  if (file === undefined) return undefined;
  // Settings of the folder that is worked in, or of an npm around this program, are not the user's own.
  const { PATH = "", HOME = homedir(), NPM_CONFIG_PREFIX: prefix } = process.env;
  const env = { PATH, HOME, ...(prefix === undefined ? {} : { NPM_CONFIG_PREFIX: prefix }) };
  const asking = { file, args: ["root", "--global"], cwd: homedir(), env };
  const said = await runPlain(asking, { timeoutMs: NPM_MS }).catch(() => undefined);
  const folder = said?.stdout.trim() ?? "";
  return said?.code === 0 && isAbsolute(folder) ? folder : undefined;
}
