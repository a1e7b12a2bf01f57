// Paths that a sandbox hides, in words: what the server cannot touch, and exactly what would grant it.

import { shellWord } from "../../base/text/command-line.ts";

/** The message of a start and of `portolan validate` about a path that a config names and the sandbox hides. */
export function hiddenPathMessage(
  server: string,
  { path, where, isNew = false }: { path: string; where: string; isNew?: boolean | undefined },
): string {
  const state = isNew ? ", which does not exist yet" : "";
  return `The sandbox of server "${server}" hides ${path}, named in ${where}${state}: the server can neither read nor write it.`;
}

/** `--allow-read /a …`, for a sentence that says that the path is hidden. */
export function pathGrant(path: string, isNew = false): string {
  const word = shellWord(path);
  const inYaml = word === path ? path : JSON.stringify(path);
  const first = isNew ? "create it first, then " : "";
  return `${first}--allow-read ${word} or --allow-write ${word}, or sandbox: { fs: { write: [${inYaml}] } } in its config (read: to read it only).`;
}
