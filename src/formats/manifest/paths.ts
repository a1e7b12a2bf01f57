// Paths of a config file, made absolute: relative ones start at the folder of the file.

import { dirname, posix, resolve } from "node:path";
import { quoted, type TextNode } from "../document/index.ts";
import type { ReadContext } from "../schema-builder/index.ts";

/** The folder that the paths of a file start from. For `.cursor/mcp.json` and the like, it is the project above the hidden folder. */
export function folderOf(file: string): string {
  const folder = dirname(resolve(file));
  return /[\\/]\.[^\\/]+$/.test(folder) ? dirname(folder) : folder;
}

/** The absolute path, or one that begins with `~/`. Returns undefined after an error. */
export function toAbsolutePath(
  written: string,
  node: TextNode,
  { folder, diagnostics }: ReadContext,
): string | undefined {
  const refuse = (message: string, hint: string): undefined => {
    diagnostics.add(node, `${quoted(written)} ${message}`, hint);
  };
  const before = written.replace(/\/?[^/]*[*?].*$/, "");
  if (written.includes("${"))
    return refuse("contains a reference", "Write paths without references; ~/ is your home folder.");
  if (/[*?]/.test(written))
    return refuse("is a pattern", `Name the folder itself${before === "" ? "" : `: ${before}`}.`);
  if (!written.startsWith("~")) return resolve(folder, written);
  if (!/^~(\/|$)/.test(written))
    return refuse("is in the home folder of another user", "Write the full path.");
  const home = posix.normalize(written);
  if (home === "~") return "~/";
  return home.startsWith("~/") ? home : refuse("is outside of your home folder", "Write the full path.");
}
