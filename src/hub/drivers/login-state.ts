// Where a driver's login is kept: in the home of whoever runs this program, or in a home of its own for each of the others.

import { createHash } from "node:crypto";
import { mkdir, readdir, rmdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { type CallContext, LOCAL_USER } from "../../contracts/index.ts";
import { PortolanError } from "../../errors/index.ts";
import type { Driver, LaunchSettings } from "../../model/index.ts";

/** Folders of many programs: one of them is not given the whole of it. */
const OF_MANY = [".config", ".local", ".local/share", ".local/state", ".cache", ".ssh", ".gnupg", "Library"];
const OF_MANY_MAC = [
  "Library/Application Support",
  "Library/Caches",
  "Library/Preferences",
  "Library/Keychains",
];

interface StateGrants {
  readonly write: readonly string[];
  /** Takes away again what was made for a login that left nothing there. */
  tidy(): Promise<void>;
}

/** Undefined: the home that this program has itself. */
export async function homeFor(
  driver: Driver,
  { userId }: CallContext,
  root: string,
): Promise<string | undefined> {
  if (userId === undefined || userId === LOCAL_USER) return undefined;
  const { default: envPaths } = await import("env-paths");
  const hash = createHash("sha256")
    .update(JSON.stringify([root, driver.id, userId]))
    .digest("hex");
  const folder = join(
    envPaths("portolan", { suffix: "" }).data,
    "homes",
    `${driver.id}-${hash.slice(0, 24)}`,
  );
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return folder;
}

/** A folder counts when something is in it. What lies outside of a home is only that of whoever runs this program. */
export async function isThere(path: string, home: string | undefined, root: string): Promise<boolean> {
  if (home !== undefined && !isOfHome(path)) return false;
  const whole = statePath(path, home ?? homedir(), root);
  const found = await stat(whole).catch(() => undefined);
  if (found?.isDirectory() !== true) return found !== undefined;
  return (await readdir(whole).catch(() => [])).length > 0;
}

/** The server reads what a login has left. */
export async function withState(
  driver: Driver,
  home: string | undefined,
  root: string,
  launch: LaunchSettings,
): Promise<LaunchSettings> {
  const paths = driver.auth?.state?.paths ?? [];
  if (home !== undefined) return { ...launch, homeFolder: home };
  const all = await Promise.all(
    paths.map(async (path) => {
      const whole = statePath(path, homedir(), root);
      return (await stat(whole).catch(() => undefined)) === undefined ? [] : [whole];
    }),
  );
  return granted(launch, "read", all.flat());
}

export function granted(
  launch: LaunchSettings,
  access: "read" | "write",
  paths: readonly string[],
): LaunchSettings {
  if (paths.length === 0) return launch;
  const { sandbox } = launch;
  const fs = { ...sandbox?.fs, [access]: [...(sandbox?.fs?.[access] ?? []), ...paths] };
  return { ...launch, sandbox: { ...sandbox, fs } };
}

/** What a command of the driver may write to. `create`: it is one that makes a login, and needs a place for it. */
export async function stateGrants(
  driver: Driver,
  root: string,
  { create, command }: { readonly create: boolean; readonly command: string },
): Promise<StateGrants> {
  const home = homedir();
  const write: string[] = [];
  const made: { readonly folder: string; readonly first: string }[] = [];
  for (const written of driver.auth?.state?.paths ?? []) {
    const path = statePath(written, home, root);
    const found = await stat(path).catch(() => undefined);
    const isFolder = found?.isDirectory() ?? (written.endsWith("/") || isLikelyFolder(path, home));
    const folder = isFolder ? path : dirname(path);
    // A file that is put in place of another needs its folder.
    if (isFolder ? found !== undefined : isOfOne(folder, home) && (await isFolderThere(folder))) {
      write.push(folder);
    } else if (found !== undefined) {
      write.push(path);
    } else if (create) {
      if (!isOfOne(folder, home)) throw noPlace(driver, written, command);
      const first = await mkdir(folder, { recursive: true, mode: 0o700 });
      if (first !== undefined) made.push({ folder, first });
      write.push(folder);
    }
  }
  return {
    write,
    tidy: async () => {
      for (const { folder, first } of made) await removeEmpty(folder, first);
    },
  };
}

function statePath(path: string, home: string, root: string): string {
  return isOfHome(path) ? join(home, path.slice(1)) : resolve(root, path);
}

function isOfHome(path: string): boolean {
  return path === "~" || path.startsWith("~/");
}

/** Inside of the home, and not a folder that many programs share. */
function isOfOne(folder: string, home: string): boolean {
  const below = relative(home, folder);
  if (below === "" || below === ".." || below.startsWith(`..${sep}`) || isAbsolute(below)) return false;
  return ![...OF_MANY, ...OF_MANY_MAC].includes(below.split(sep).join("/"));
}

/** Where its folder is its own, whatever it is can be made there; otherwise its name must tell. */
function isLikelyFolder(path: string, home: string): boolean {
  return !isOfOne(dirname(path), home) && !/[^/\\]\.[^./\\]+$|rc$/.test(path);
}

/** Up to and with the first one that was made, as far as nothing is in them. */
async function removeEmpty(folder: string, first: string): Promise<void> {
  try {
    for (let at = folder; at.length >= first.length; at = dirname(at)) await rmdir(at);
  } catch {
    // Something is in it.
  }
}

async function isFolderThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}

function noPlace(driver: Driver, path: string, command: string): PortolanError {
  const message = `${driver.id}: a login cannot be kept at ${path}, which is not there: its folder is not the driver's alone`;
  return new PortolanError("SANDBOX_UNAVAILABLE", message, {
    server: driver.id,
    hint: `Name a folder of its own in auth.state.paths of ${driver.origin.file}, or log in by yourself: ${command}`,
  });
}
