// The file of a package's metadata document in a folder.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { readLimited } from "../../base/files/limited-read.ts";
import { PortolanError } from "../../errors/index.ts";

/** The names of the document; the second one is for authors who write comments. */
export const DOCUMENT_NAMES: readonly string[] = ["mcp-package.json", "mcp-package.jsonc"];
const MAX_DOCUMENT = 1024 * 1024;

/** The document of a folder. Two of them are an error: only one would be updated. */
export async function findDocument(
  folder: string,
): Promise<{ readonly file: string; readonly text: string } | undefined> {
  const names = new Set(await readdir(folder).catch(() => []));
  const [first, second] = DOCUMENT_NAMES.filter((name) => names.has(name));
  if (first === undefined) return undefined;
  if (second !== undefined)
    throw new PortolanError("FILE_INVALID", `${folder} has both ${first} and ${second}.`, {
      hint: "Remove one of them. Nothing was written.",
    });
  const file = join(folder, first);
  try {
    const bytes = await readLimited(file, MAX_DOCUMENT);
    return { file, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch (cause) {
    throw new PortolanError("FILE_FAILED", `${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** The archive that belongs to a document, beside it. */
export function archiveName(name: string, version: string): string {
  return `${name.replace(/^.*\//, "")}-${version.replaceAll(/[^\w.+-]/g, "-")}.tar`;
}
