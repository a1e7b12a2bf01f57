// Finds files by pattern: `*` and `?` within a name, `**` for any folders. It is bounded, sorted, and follows no linked folders.

import { type Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";

const MAX_ENTRIES = 20_000;
const MAX_DEPTH = 16;

export function isPattern(source: string): boolean {
  return /[*?]/.test(source);
}

/** Splits a path into the folder above the first pattern and the steps below it. */
export function splitPattern(pattern: string): { readonly base: string; readonly steps: readonly string[] } {
  const parts = pattern.split(/[\\/]/);
  const first = parts.findIndex(isPattern);
  const base = parts.slice(0, first).join("/");
  return { base: base === "" && pattern.startsWith("/") ? "/" : base, steps: parts.slice(first) };
}

/** Returns sorted absolute paths. `complete` is false if there were too many files. */
export async function findFiles(
  base: string,
  steps: readonly string[],
): Promise<{ readonly files: readonly string[]; readonly complete: boolean }> {
  const found = new Set<string>();
  let entries = 0;

  const visit = async (folder: string, left: readonly string[], depth: number): Promise<void> => {
    const [step, ...rest] = left;
    if (step === undefined || depth > MAX_DEPTH || entries > MAX_ENTRIES) return;
    if (step === "**") await visit(folder, rest.length === 0 ? ["*"] : rest, depth);
    for (const entry of await list(folder)) {
      entries += 1;
      if (entries > MAX_ENTRIES) return;
      const path = join(folder, entry.name);
      if (step === "**") {
        if (isOpen(entry)) await visit(path, left, depth + 1);
      } else if (matches(step, entry.name)) {
        if (rest.length > 0 && entry.isDirectory()) await visit(path, rest, depth + 1);
        else if (rest.length === 0 && !entry.isDirectory()) found.add(path);
      }
    }
  };

  // Two `**` in a row mean the same as one, but take quadratic time.
  const short = steps.filter((step, index) => step !== "**" || steps[index - 1] !== "**");
  await visit(base, short, 0);
  return { files: [...found].sort(), complete: entries <= MAX_ENTRIES };
}

/** Folders that `**` matches. */
export function isHidden(name: string): boolean {
  return name.startsWith(".") || name === "node_modules";
}

function isOpen(entry: Dirent): boolean {
  return entry.isDirectory() && !isHidden(entry.name);
}

function matches(step: string, name: string): boolean {
  if (!isPattern(step)) return step === name;
  if (name.startsWith(".") && !step.startsWith(".")) return false;
  if (name === "node_modules") return false;
  return matchName(step, name);
}

/** Matches greedily and backtracks to the last `*` only, so that no pattern takes more than quadratic time. */
function matchName(pattern: string, name: string): boolean {
  let at = 0;
  let star = -1;
  let resume = 0;
  let index = 0;
  while (index < name.length) {
    if (pattern[at] === "*") {
      star = at;
      resume = index;
      at += 1;
    } else if (at < pattern.length && (pattern[at] === "?" || pattern[at] === name[index])) {
      at += 1;
      index += 1;
    } else if (star >= 0) {
      at = star + 1;
      resume += 1;
      index = resume;
    } else {
      return false;
    }
  }
  while (pattern[at] === "*") at += 1;
  return at === pattern.length;
}

async function list(folder: string): Promise<Dirent[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    // A folder that cannot be read is skipped.
    return [];
  }
}
