// Login state of drivers: in the home folder of the local user, or in a separate home for each other user.

import { createHash } from "node:crypto";
import { mkdir, readdir, rmdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { type CallContext, LOCAL_USER } from "../../contracts/index.ts";
import { PortolanError } from "../../errors/index.ts";
import type { Driver, LaunchSettings } from "../../model/index.ts";

/** Folders that many programs share: no driver gets one of them as a whole. */
const OF_MANY = [".config", ".local", ".local/share", ".local/state", ".cache", ".ssh", ".gnupg", "Library"];
const OF_MANY_MAC = [
  "Library/Application Support",
  "Library/Caches",
  "Library/Preferences",
  "Library/Keychains",
];

interface StateGrants {
  readonly write: readonly string[];
  /** Removes folders that were created for a login and are still empty. */
  tidy(): Promise<void>;
}

/** The separate home of a user; undefined for the local user. */
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

/** A folder exists when it is not empty. Paths outside of a home belong to the local user only. */
export async function hasLoginState(path: string, home: string | undefined, root: string): Promise<boolean> {
  if (home !== undefined && !isOfHome(path)) return false;
  const whole = statePath(path, home ?? homedir(), root);
  const found = await stat(whole).catch(() => undefined);
  if (found?.isDirectory() !== true) return found !== undefined;
  return (await readdir(whole).catch(() => [])).length > 0;
}

/** Grants the server read access to the login state. */
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

/** The paths that a command of the driver may write. `create` also creates the folders that a login needs. */
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
    // A file that is replaced by a rename needs write access to its folder.
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

/** True inside of the home, unless many programs share the folder. */
function isOfOne(folder: string, home: string): boolean {
  const below = relative(home, folder);
  if (below === "" || below === ".." || below.startsWith(`..${sep}`) || isAbsolute(below)) return false;
  return ![...OF_MANY, ...OF_MANY_MAC].includes(below.split(sep).join("/"));
}

/** Guesses by its name whether a path that does not exist yet is a folder. */
function isLikelyFolder(path: string, home: string): boolean {
  return !isOfOne(dirname(path), home) && !/[^/\\]\.[^./\\]+$|rc$/.test(path);
}

/** Removes empty folders, up to the first one that was created. */
async function removeEmpty(folder: string, first: string): Promise<void> {
  try {
    for (let at = folder; at.length >= first.length; at = dirname(at)) await rmdir(at);
  } catch {
    // The folder is not empty.
  }
}

async function isFolderThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}

function noPlace(driver: Driver, path: string, command: string): PortolanError {
  const message = `${driver.id}: the login cannot be stored at ${path}: this path does not exist, and Portolan creates it only in a folder of your home that no other program uses`;
  return new PortolanError("CONFIG_INVALID", message, {
    server: driver.id,
    data: { permanent: true },
    hint: `In auth.state.paths of ${driver.origin.file}, name a folder below your home folder that only this service uses. Or log in without Portolan: ${command}`,
  });
}
