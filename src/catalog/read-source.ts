// Reads one file of a workspace: recognises its format and parses it. An invalid state never replaces a valid one.

import { type Diagnostic, toPortolanError } from "../errors/index.ts";
import { readServerConfig } from "./files/server-config-file.ts";
import { type FormatContext, KNOWN_FORMATS, type ParsedFile, parseConfigFile, UNKNOWN } from "./formats.ts";
import { readConfigFile } from "./files/read-file.ts";
import type { SourceFile } from "./files/sources.ts";
import type { ReadConfigFile } from "./files/accepted-files.ts";
import type { ParsedFiles } from "./types.ts";

/** Format of a file that caused an internal error. */
const FAULTY = "faulty";

export interface ReadSource {
  readonly file: string;
  /** Current content, or the last valid one. Undefined for a file that does not exist or is not a config file. */
  readonly parsed: ParsedFile | undefined;
  readonly diagnostics: readonly Diagnostic[];
  readonly valid: boolean;
  /** Set if `parsed` is the last valid content, because the current one has an error. */
  readonly isEarlier?: true;
  /** Set if that error is that the file has no content any more. */
  readonly gone?: Gone;
}

type Gone = "missing" | "empty";

/** `own` is the file that lists the source. Missing sources are reported there. */
export async function readSource(
  source: SourceFile,
  own: string | undefined,
  options: FormatContext,
  memory: ParsedFiles,
  readFile: ReadConfigFile = readConfigFile,
): Promise<ReadSource> {
  const { file, named } = source;
  const read = await readFile(file);
  const old = memory.get(file)?.parsed;
  const used = source.isOwn === true && old?.isEmpty !== true ? old : undefined;
  if (read.kind === "missing") {
    if (used !== undefined) return keepGone(file, used, "missing");
    memory.delete(file);
    if (named === undefined) return { file, parsed: undefined, diagnostics: [], valid: true };
    const { line, column } = named;
    const message = `the source ${named.text} does not exist`;
    const hint = "Correct the path, or remove it from sources.";
    const missing: Diagnostic = {
      code: "FILE_FAILED",
      severity: "error",
      message,
      file: own,
      line,
      column,
      hint,
    };
    return { file, parsed: undefined, diagnostics: [missing], valid: false };
  }
  if (read.kind === "problem")
    return keepOld(file, memory, undefined, [
      { code: "FILE_FAILED", severity: "error", message: `${file} cannot be read: ${read.message}`, file },
    ]);
  const beside = await readServerConfig(file, readFile);
  const text = beside === undefined ? read.text : JSON.stringify([read.text, beside]);
  const known = memory.get(file);
  if (known?.text === text)
    return { file, parsed: known.parsed, diagnostics: known.parsed.diagnostics, valid: true };
  const parsed = await parseConfigFile(read.text, file, { ...options, beside }).catch((thrown: unknown) =>
    unparsed(thrown, file),
  );
  // A file with a common name that no one listed and that never was a config file may be something else.
  const expected = named !== undefined || memory.has(file) || file.endsWith("mcp.json");
  if (!expected && (parsed === undefined || parsed.format === UNKNOWN)) {
    const told = source.matched === true && parsed !== undefined;
    return {
      file,
      parsed: undefined,
      diagnostics: told ? [skipped(file, parsed.diagnostics)] : [],
      valid: true,
    };
  }
  if (parsed === undefined) return keepOld(file, memory, undefined, [unknownFormat(file, read.text)]);
  if (parsed.diagnostics.some(({ severity }) => severity === "error"))
    return keepOld(file, memory, parsed, parsed.diagnostics);
  if (parsed.isEmpty === true && used !== undefined) return keepGone(file, used, "empty");
  memory.set(file, { text, parsed });
  return { file, parsed, diagnostics: parsed.diagnostics, valid: true };
}

/** An internal error in one file must not affect the others. */
export function unparsed(thrown: unknown, file: string): ParsedFile {
  const { code, message: reason, hint } = toPortolanError(thrown);
  const message = `${file} cannot be parsed: ${reason}`;
  return { format: FAULTY, servers: [], diagnostics: [{ code, severity: "error", message, file, hint }] };
}

function unknownFormat(file: string, text: string): Diagnostic {
  if (/(?:^|[\\/])manifest\.ya?ml$/i.test(file)) {
    const before = text.split("\n").findIndex((line) => /^"?config"?\s*:/.test(line));
    return {
      code: "FILE_INVALID",
      severity: "error",
      message: before < 0 ? "config is missing" : "config has no servers",
      file,
      line: Math.max(before, 0) + 1,
      column: 1,
      hint: "A bridge manifest lists its servers under config.servers.",
    };
  }
  return {
    code: "FILE_INVALID",
    severity: "error",
    message: `Portolan does not know the format of ${file}`,
    file,
    line: 1,
    column: 1,
    hint: `Portolan reads ${KNOWN_FORMATS}.`,
  };
}

function skipped(file: string, [first]: readonly Diagnostic[]): Diagnostic {
  const { line, column } = first ?? {};
  const message = `Portolan ignores ${file}: ${first?.message ?? "it cannot be read"}`;
  return { code: "FILE_INVALID", severity: "warning", message, file, line, column };
}

/** A file that is deleted or emptied by mistake would take the servers, the callers and the rules about them with it. */
function keepGone(file: string, parsed: ParsedFile, gone: Gone): ReadSource {
  const error: Diagnostic = {
    code: "FILE_FAILED",
    severity: "error",
    message: `the file ${gone === "missing" ? "does not exist any more" : "is empty"}, so Portolan keeps using its last valid content`,
    file,
    hint: "Restore the file. To remove all servers and settings, write servers: {} into the file. To stop the gateway: portolan stop.",
  };
  return { file, parsed, diagnostics: [error], valid: false, isEarlier: true, gone };
}

/** Returns the last valid state of a file, or the valid parts of its current state. */
function keepOld(
  file: string,
  memory: ParsedFiles,
  parsed: ParsedFile | undefined,
  diagnostics: readonly Diagnostic[],
): ReadSource {
  const old = memory.get(file)?.parsed;
  if (old === undefined) return { file, parsed, diagnostics, valid: false };
  const kept: Diagnostic = {
    code: "FILE_INVALID",
    severity: "warning",
    message: `${file} is not valid any more; Portolan keeps using its last valid content`,
    file,
    hint: "Correct the file. Portolan reads it again when it changes.",
  };
  return { file, parsed: old, diagnostics: [...diagnostics, kept], valid: false, isEarlier: true };
}
