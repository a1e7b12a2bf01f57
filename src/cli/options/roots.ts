// Roots of `--root`: folders that are offered to a server.

import { statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Root } from "../../model/index.ts";
import { throwUsageErrors } from "./usage-error.ts";

/** Throws when a folder is not a directory; with `problems`, adds a message to it instead. */
export function rootsOf(folders: readonly string[], cwd: string, problems?: string[]): Root[] {
  const wrong = folders.filter((folder) => !isDirectory(resolve(cwd, folder)));
  const messages = wrong.map((folder) => `--root ${folder} is not a directory`);
  if (problems === undefined) throwUsageErrors(messages);
  else problems.push(...messages);
  return folders.map((folder) => {
    const path = resolve(cwd, folder);
    return { uri: pathToFileURL(path).href, name: basename(path) };
  });
}

export function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
