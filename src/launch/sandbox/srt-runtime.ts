// The package of srt as it is found here, and its one state for the whole process: begun with the first box, ended with the last.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export const PACKAGE = "@anthropic-ai/sandbox-runtime";

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

export function createSession(from: string): {
  enter(): Promise<{ runtime: Manager; folder: string; leave: () => void }>;
} {
  let users = 0;
  let state: Promise<void> = Promise.resolve();
  return {
    enter: async () => {
      const { runtime, folder } = await loadRuntime(from);
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
  from: string,
): Promise<{ runtime: Manager; folder: string; version: string }> {
  const { folder, version } = find(from);
  const entry = pathToFileURL(join(folder, "dist", "index.js")).href;
  const { SandboxManager: runtime } = (await import(entry)) as Runtime;
  return { runtime, folder, version };
}

/** By hand: the package shows `import` only, and its helper programs must be in the box, so its folder must be known. */
function find(from: string): { folder: string; version: string } {
  for (const modules of createRequire(from).resolve.paths(PACKAGE) ?? []) {
    const folder = join(modules, PACKAGE);
    try {
      const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
        version: string;
      };
      return { folder, version };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
  throw Object.assign(new Error(`${PACKAGE} is not installed.`), { code: "ENOENT" });
}
