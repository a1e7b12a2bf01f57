// Reads Markdown with front matter: YAML values with their positions between two lines of `---`, and the text after them.

import type { Diagnostic } from "../../../errors/index.ts";
import { MAX_BYTES, type ObjectNode, type Place, Diagnostics, readYaml, ROOT } from "../../document/index.ts";

export interface Frontmatter {
  /** Undefined if there is none, or if it has a syntax error. */
  readonly root: ObjectNode | undefined;
  readonly body: string;
  readonly diagnostics: readonly Diagnostic[];
}

const FENCE = /^---[ \t]*\r?$/gm;

export function readFrontmatter(text: string, file: string): Frontmatter {
  const diagnostics = new Diagnostics(file);
  const nothing = (place: Place, message: string, hint?: string): Frontmatter => {
    diagnostics.add(place, message, hint);
    return { root: undefined, body: "", diagnostics: diagnostics.sorted() };
  };
  const bytes = text.length > MAX_BYTES ? text.length : Buffer.byteLength(text);
  if (bytes > MAX_BYTES)
    return nothing(ROOT, `the file has ${bytes} bytes; a config file can have at most ${MAX_BYTES}`);
  const source = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const [first, second] = fences(source);
  if (first === undefined || first.start !== 0)
    return nothing(ROOT, "there is no frontmatter", beginning(source, first?.start));
  if (second === undefined)
    return nothing(ROOT, "the frontmatter does not end", "Write a line with --- after the last key.");
  // The first line stays as an empty one, so that every place is that in the file.
  const read = readYaml(`\n${source.slice(first.end, second.start)}`, file);
  const body = source.slice(second.end);
  if (read.root === undefined) return { root: undefined, body, diagnostics: read.diagnostics };
  if (read.root.kind === "object") return { root: read.root, body, diagnostics: read.diagnostics };
  const empty = read.root.kind === "null";
  return nothing(
    empty ? ROOT : read.root,
    empty ? "the frontmatter is empty" : "the frontmatter must be an object with keys",
    "Write a key and its value on each line, such as name: Filesystem.",
  );
}

interface Fence {
  readonly start: number;
  /** After the line and its end. */
  readonly end: number;
}

function fences(source: string): Fence[] {
  const found: Fence[] = [];
  for (const { 0: line, index } of source.matchAll(FENCE)) {
    found.push({ start: index, end: Math.min(index + line.length + 1, source.length) });
    if (found.length === 2) break;
  }
  return found;
}

function beginning(source: string, fence: number | undefined): string {
  if (fence !== undefined && source.slice(0, fence).trim() === "")
    return "Remove the empty lines before the first ---.";
  return "The first line of the file is ---, then come the keys, then a line with --- again.";
}
