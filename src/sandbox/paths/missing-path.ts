// Explains why a path does not exist, and which command creates it.

import { lstat, readdir, readlink, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import { suggest } from "../../errors/index.ts";

export interface MissingPath {
  readonly problem: string;
  readonly remedy: string;
}

/** `isFolder`: the path must be a folder. */
export async function missingPath(path: string, isFolder = false): Promise<MissingPath> {
  const [link, target] = (await danglingLink(path)) ?? [];
  if (link !== undefined && target !== undefined) {
    const which = link === path ? "it" : link;
    return {
      problem: `${which} is a link to ${target}, which does not exist`,
      remedy: `Create ${target}, or correct the link.`,
    };
  }
  const file = await fileAbove(path);
  if (file !== undefined) return { problem: `${file} is a file, not a folder`, remedy: "Correct the path." };
  const problem = isFolder ? "there is no such folder" : "it does not exist";
  const create = `mkdir -p ${shellWord(path)}`;
  // A folder with this name would keep the program from creating its file.
  const looksLikeFile = !isFolder && /[^.]\.[A-Za-z0-9]{1,8}$/.test(basename(path));
  const remedy = looksLikeFile ? `Create the file ${path} first, or correct the path.` : create;
  const similar = await similarPath(path);
  if (similar === undefined) return { problem, remedy };
  const other = looksLikeFile ? remedy : `If not, run \`${create}\`.`;
  return { problem, remedy: `Did you mean ${similar}? ${other}` };
}

/** The existing path that differs only in the spelling of one folder or file. */
async function similarPath(path: string): Promise<string | undefined> {
  for (const step of stepsOf(path)) {
    if ((await lstat(step).catch(() => undefined)) !== undefined) continue;
    const names = await readdir(dirname(step)).catch(() => []);
    for (const name of suggest(basename(step), names)) {
      const similar = join(dirname(step), name, relative(step, path));
      if ((await stat(similar).catch(() => undefined)) !== undefined) return similar;
    }
    return undefined;
  }
  return undefined;
}

/** The outermost dangling link of the path, and its target. */
async function danglingLink(path: string): Promise<[string, string] | undefined> {
  for (const step of stepsOf(path)) {
    const found = await lstat(step).catch(() => undefined);
    if (found === undefined) return undefined;
    const isDangling = found.isSymbolicLink() && (await stat(step).catch(() => undefined)) === undefined;
    if (isDangling) return [step, resolve(dirname(step), await readlink(step))];
  }
  return undefined;
}

async function fileAbove(path: string): Promise<string | undefined> {
  for (const step of stepsOf(dirname(path))) {
    const found = await stat(step).catch(() => undefined);
    if (found === undefined) return undefined;
    if (!found.isDirectory()) return step;
  }
  return undefined;
}

/** Returns `/a`, `/a/b`, `/a/b/c`. */
function stepsOf(path: string): string[] {
  const above = dirname(path);
  return above === path ? [] : [...stepsOf(above), path];
}
