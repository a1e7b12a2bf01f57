// Paths of a declaration made whole: relative ones start at the file that names them.

import { dirname, posix, resolve } from "node:path";
import { type Place, type Problems, quoted } from "../text/index.ts";

/** `.cursor/mcp.json` and its like speak for the folder above them. */
export function folderOf(file: string): string {
  const folder = dirname(resolve(file));
  return /[\\/]\.[^\\/]+$/.test(folder) ? dirname(folder) : folder;
}

/** Absolute, or still with `~/`; nothing when it is wrong, which is told. */
export function wholePath(
  written: string,
  folder: string,
  place: Place,
  problems: Problems,
): string | undefined {
  const refuse = (problem: string, hint: string): undefined => {
    problems.add(place, `${quoted(written)} ${problem}`, hint);
  };
  const before = written.replace(/\/?[^/]*[*?].*$/, "");
  if (written.includes("${"))
    return refuse("holds a reference", "What a program may touch is written out; ~/ stands for your home.");
  if (/[*?]/.test(written))
    return refuse("is a pattern", `Name the folder itself${before === "" ? "" : `: ${before}`}.`);
  if (!written.startsWith("~")) return resolve(folder, written);
  if (!/^~(\/|$)/.test(written)) return refuse("names the home of somebody else", "Write the whole path.");
  const home = posix.normalize(written);
  if (home === "~") return "~/";
  return home.startsWith("~/") ? home : refuse("leads out of your home", "Write the whole path.");
}
