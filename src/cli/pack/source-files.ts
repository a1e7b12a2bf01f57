// Files that are packed: read within a limit, and refused with all their errors.

import { readLimited } from "../../base/files/limited-read.ts";
import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import type { Cli } from "../context.ts";
import { configError } from "../output/diagnostic.ts";

const MAX_TEXT = 4 * 1024 * 1024;

export function refuseErrors(cli: Cli, diagnostics: readonly Diagnostic[]): void {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  if (errors.length > 0)
    throw configError(
      errors,
      cli,
      "The file has errors",
      "Correct these lines, and pack again. No file was written.",
    );
}

export async function readText(file: string): Promise<string> {
  try {
    return (await readLimited(file, MAX_TEXT)).toString("utf8");
  } catch (cause) {
    throw new PortolanError("FILE_FAILED", `${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
}
