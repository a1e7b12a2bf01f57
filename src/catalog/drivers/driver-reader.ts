// Reads the files of drivers, each once, and keeps the last valid content of each.

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Diagnostic } from "../../errors/index.ts";
import { unparsed } from "../read-source.ts";
import type { ReadConfigFile } from "../files/accepted-files.ts";

/** Last valid content of each file. */
export type DriverMemory = Map<string, unknown>;

export interface ParsedDriverFile<T> {
  readonly value: T | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

const MAX_FOLDERS = 1_000;

export class DriverReader {
  readonly files: { file: string; format: string; valid: boolean }[] = [];
  readonly diagnostics: Diagnostic[] = [];
  /** Files that are referenced but do not exist. */
  readonly missing: string[] = [];
  readonly read: ReadConfigFile;
  readonly #memory: DriverMemory;
  readonly #read = new Map<string, Promise<unknown>>();

  constructor(memory: DriverMemory, read: ReadConfigFile) {
    this.#memory = memory;
    this.read = read;
  }

  /** Resolves to the content of a file, or to its last valid content if it has errors now, or to undefined if it does not exist. */
  parse<T>(
    file: string,
    format: string,
    parse: (text: string) => Promise<ParsedDriverFile<T>>,
  ): Promise<T | undefined> {
    let found = this.#read.get(file);
    if (found === undefined) this.#read.set(file, (found = this.#parse(file, format, parse)));
    return found as Promise<T | undefined>;
  }

  async #parse<T>(
    file: string,
    format: string,
    parse: (text: string) => Promise<ParsedDriverFile<T>>,
  ): Promise<T | undefined> {
    const read = await this.read(file);
    if (read.kind === "missing") {
      this.#memory.delete(file);
      return undefined;
    }
    if (read.kind === "problem") {
      const message = `${file} cannot be read: ${read.message}`;
      this.diagnostics.push({ code: "FILE_FAILED", severity: "error", message, file });
      return this.#memory.get(file) as T | undefined;
    }
    const { value, diagnostics } = await parse(read.text).catch((thrown: unknown) => ({
      value: undefined,
      diagnostics: unparsed(thrown, file).diagnostics,
    }));
    this.diagnostics.push(...diagnostics);
    const valid = value !== undefined || !diagnostics.some(({ severity }) => severity === "error");
    this.files.push({ file, format, valid });
    if (value !== undefined) this.#memory.set(file, value);
    // The file is valid but for another host, so its earlier content is dropped.
    else if (valid) this.#memory.delete(file);
    return value ?? (this.#memory.get(file) as T | undefined);
  }
}

/** Returns the existing files `<folder>/<any>/<name>`, sorted. */
export async function below(folder: string, ...names: string[]): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const folders = entries
    .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
    .slice(0, MAX_FOLDERS);
  const files = folders.flatMap((entry) => names.map((name) => join(folder, entry.name, name))).toSorted();
  const there = await Promise.all(files.map(isFile));
  return files.filter((_, index) => there[index]);
}

export async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
