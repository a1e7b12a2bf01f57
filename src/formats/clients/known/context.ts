// Context of reading a client's file: platform, home folder, workspace.

import { homedir } from "node:os";
import { posix, win32, type PlatformPath } from "node:path";
import type { ClientContext } from "../types.ts";

export interface ReadContext {
  readonly file: string;
  readonly home: string;
  readonly cwd: string;
  /** The value of `${workspaceFolder}` in this file. */
  readonly workspace: string;
  readonly platform: NodeJS.Platform;
  readonly path: PlatformPath;
  readonly projects: "here" | "all";
}

/** Folders in which a client keeps its file below the root of a project. */
const CONFIG_FOLDERS = new Set([".vscode", ".cursor", ".gemini", ".codex", ".opencode", ".windsurf"]);

/** Names of files that stand in the root of a project. */
const ROOT_FILES = /^(\.mcp\.json|opencode\.jsonc?)$/;

export function readContext(file: string, context: ClientContext): ReadContext {
  const platform = context.platform ?? process.platform;
  const path = platform === "win32" ? win32 : posix;
  const home = context.home ?? homedir();
  const cwd = context.cwd ?? process.cwd();
  const whole = path.resolve(cwd, file);
  return {
    file: whole,
    home,
    cwd,
    workspace: projectOf(whole, path, home) ?? cwd,
    platform,
    path,
    projects: context.projects ?? "here",
  };
}

/** The root of the project that a file belongs to, when its place says so. */
function projectOf(file: string, path: PlatformPath, home: string): string | undefined {
  const folder = path.dirname(file);
  if (CONFIG_FOLDERS.has(path.basename(folder))) {
    const root = path.dirname(folder);
    return samePath(root, home, path) ? undefined : root;
  }
  return ROOT_FILES.test(path.basename(file)) && !/[\\/]\.config[\\/]opencode$/.test(folder)
    ? folder
    : undefined;
}

/** On Windows, ignores case and the direction of slashes. */
export function samePath(a: string, b: string, path: PlatformPath): boolean {
  const normal = (value: string): string => {
    const whole = path.normalize(value).replace(/(?<=[^\\/:])[\\/]+$/, "");
    return path === win32 ? whole.toLowerCase() : whole;
  };
  return normal(a) === normal(b);
}

/** `~` and `~/x` as the home folder; anything else as it is. */
export function expandHome(value: string, context: Pick<ReadContext, "home" | "path">): string {
  if (value === "~") return context.home;
  return /^~[\\/]/.test(value) ? context.path.join(context.home, value.slice(2)) : value;
}
