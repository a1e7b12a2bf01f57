// Messages about paths that a sandbox hides, and the options that would allow them.

import { shellWord } from "../../base/text/command-line.ts";

/** Message at a start and in `portolan validate` about a path that a config names and the sandbox hides. */
export function hiddenPathMessage(
  server: string,
  { path, where, isNew = false }: { path: string; where: string; isNew?: boolean },
): string {
  const state = isNew ? ", which does not exist yet" : "";
  return `The sandbox of server "${server}" hides ${path}, named in ${where}${state}: the server can neither read nor write it.`;
}

/** Returns the options and the config that would allow a hidden path. */
export function pathGrant(path: string, isNew = false): string {
  const word = shellWord(path);
  const inYaml = word === path ? path : JSON.stringify(path);
  const first = isNew ? "create it first, then " : "";
  return `${first}--allow-read ${word} or --allow-write ${word}, or sandbox: { fs: { write: [${inYaml}] } } in its config (read: to read it only).`;
}
