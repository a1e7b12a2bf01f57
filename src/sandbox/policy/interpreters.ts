// Reads the interpreter from the first line of a script, including the program that `env` starts.

import { open } from "node:fs/promises";
import { basename } from "node:path";
import { findProgram } from "./system-paths.ts";

export const INTERPRETER: RegExp =
  /^(?:node|nodejs|deno|bun|tsx|ts-node|python[\d.]*|pypy[\d.]*|ruby[\d.]*|perl[\d.]*|php[\d.]*|java|lua[\d.]*|Rscript|sh|bash|dash|zsh|fish)$/;

const ALONE = /^(?:-|-[iv]*S|-[iv]+|--split-string|--ignore-environment|--debug|-[uCa].+|--\w+=.*)$/;
const WITH_OPERAND = /^(?:-[uCa]|--unset|--chdir|--argv0)$/;

export async function interpretersOf(path: string, searchPath: string | undefined): Promise<string[]> {
  const line = await firstLineOf(path);
  if (line === undefined) return [];
  const { program, name } = line;
  const wanted = name === undefined ? undefined : await findProgram(name, searchPath);
  return wanted === undefined ? [program] : [program, wanted];
}

/** For a script that the server can rewrite: only a well-known interpreter, which `env` looks up by name. */
export async function usualInterpretersOf(path: string, searchPath: string | undefined): Promise<string[]> {
  const name = (await firstLineOf(path))?.name;
  const wanted =
    name !== undefined && INTERPRETER.test(name) ? await findProgram(name, searchPath) : undefined;
  return wanted === undefined ? [] : [wanted];
}

interface FirstLine {
  readonly program: string;
  readonly name: string | undefined;
}

async function firstLineOf(path: string): Promise<FirstLine | undefined> {
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(256), 0, 256, 0);
    const line = /^#!\s*(.+)/.exec(buffer.toString("latin1", 0, bytesRead))?.[1];
    if (line === undefined) return undefined;
    const [program = "", ...words] = line.trim().split(/\s+/);
    return { program, name: basename(program) === "env" ? nameAmong(words) : undefined };
  } catch {
    return undefined;
  } finally {
    await file.close();
  }
}

/**
 * The program among the arguments of `env`. Operands of options are skipped; an unknown option may have operands,
 * so that it ends the search.
 */
function nameAmong(words: readonly string[]): string | undefined {
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? "";
    if (WITH_OPERAND.test(word)) at += 1;
    else if (!ALONE.test(word) && !/^[^-].*=/.test(word)) return word.startsWith("-") ? undefined : word;
  }
  return undefined;
}
