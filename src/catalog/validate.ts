// Checks declarations of any format, as `portolan validate` does.

import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Diagnostic } from "../errors/index.ts";
import { loadCatalog } from "./load.ts";
import { readSource } from "./read-source.ts";
import { type CatalogFile, type CatalogOptions, OWN_NAMES, USUAL_NAMES } from "./types.ts";

export interface Validation {
  /** False when there is any error. */
  readonly valid: boolean;
  readonly files: readonly CatalogFile[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Files by what is in them, folders as workspaces. */
export async function validateFiles(
  paths: readonly string[],
  options: CatalogOptions = {},
): Promise<Validation> {
  const results = await Promise.all(paths.map((path) => validatePath(resolve(path), path, options)));
  const files = results.flatMap((result) => result.files);
  const diagnostics = results.flatMap((result) => result.diagnostics);
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  // What only shows when all files are seen together makes the file that says it wrong.
  const wrong = new Set(errors.map(({ file }) => file));
  return {
    valid: errors.length === 0,
    files: files.map((one) => ({ ...one, valid: one.valid && !wrong.has(one.file) })),
    diagnostics,
  };
}

async function validatePath(
  path: string,
  written: string,
  options: CatalogOptions,
): Promise<Pick<Validation, "files" | "diagnostics">> {
  const stats = await stat(path).catch(() => undefined);
  if (stats === undefined)
    return { files: [], diagnostics: [failed(path, `${written} is not there`, "Correct the path.")] };
  if (stats.isDirectory()) {
    const { files, diagnostics } = await loadCatalog(path, options);
    if (files.length > 0 || diagnostics.length > 0) return { files, diagnostics };
    const hint = `The usual names are ${[...OWN_NAMES, ...USUAL_NAMES].join(", ")}.`;
    return { files, diagnostics: [failed(path, `${written} holds no declaration`, hint)] };
  }
  const named = { text: written, line: 1, column: 1, path: [] };
  const { parsed, diagnostics, valid } = await readSource(
    { file: path, named },
    undefined,
    options,
    new Map(),
  );
  if (parsed === undefined) return { files: [], diagnostics };
  const aliases = parsed.servers.map(({ alias }) => alias);
  return { files: [{ file: path, format: parsed.format, aliases, valid }], diagnostics };
}

function failed(file: string, message: string, hint: string): Diagnostic {
  return { code: "FILE_FAILED", severity: "error", message, file, hint };
}
