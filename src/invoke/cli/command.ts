// Builds the command of a call: program, arguments, working folder, environment. It starts no process.

import { realpathSync } from "node:fs";
import { dirname, isAbsolute, relative, resolve, sep } from "node:path";
import { PortolanError } from "../../errors/index.ts";
import type { CliInvocation, CliWord, JsonSchema, Template } from "../../model/index.ts";
import { ArgumentError } from "../values.ts";
import { schemaAt } from "./option-guard.ts";
import { prepareScript } from "./shell.ts";
import { createUnusedOptions, type Filling, fillText, fillWords } from "./words.ts";

export interface BuiltCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** Variables of the invocation, in addition to the default environment. */
  readonly env: Readonly<Record<string, string>>;
}

export interface Place {
  readonly folder: string;
  /** Values of variables in scripts; elsewhere they are replaced before. */
  readonly env: ReadonlyMap<string, string>;
}

/** Throws when the invocation cannot be used. */
export function createCommandBuilder(
  invocation: CliInvocation,
  schema: JsonSchema,
  { folder, env }: Place,
): (run: Filling) => BuiltCommand {
  const { shell, cwd } = invocation;
  const unusedOptions = createUnusedOptions(invocation, schema);
  const script = shell && prepareScript(shell.script, env, schema, unusedOptions);
  if (shell === undefined) checkProgram(invocation.words[0], schema);
  return (run) => {
    const where = { cwd: fillFolder(cwd, folder, run), env: fillEnvironment(invocation.env, run) };
    if (shell !== undefined && script !== undefined)
      return { program: shell.program, args: ["-c", script.fill(run)], ...where };
    const [program = "", ...args] = [...fillWords(invocation, schema, run), ...unusedOptions(run)];
    if (program === "")
      throw new ArgumentError("The command has no program after its arguments were filled in.");
    return { program: findProgram(program, hasPlaceholder(cwd) ? folder : where.cwd), args, ...where };
  };
}

/** The mcpfile fixes the program; a caller may at most choose one from an enum. */
function checkProgram(word: CliWord | undefined, schema: JsonSchema): void {
  const parts = word?.kind === "word" ? word.parts : [];
  const fixed = parts.every((part) => {
    if (part.kind === "text") return true;
    const of = part.kind === "input" ? schemaAt(schema, part.path) : undefined;
    return of?.const !== undefined || Array.isArray(of?.enum);
  });
  if (parts.length === 0 || !fixed)
    throw new PortolanError(
      "FILE_INVALID",
      "the command must begin with the name of a program; only an argument with an enum can be part of this name",
    );
}

/** Resolves a relative program path against the working folder. */
export function findProgram(program: string, folder: string): string {
  return /[/\\]/.test(program) && !isAbsolute(program) ? resolve(folder, program) : program;
}

function fillFolder(template: Template | undefined, folder: string, run: Filling): string {
  const text = template === undefined ? undefined : fillText(template, run);
  if (template === undefined || text === undefined || text === "") return folder;
  const cwd = resolve(folder, text);
  const [first] = template;
  if (!hasPlaceholder(template) || first?.kind !== "text" || first.text === "") return cwd;
  // The fixed path before the first placeholder is a boundary: a value must not lead out of it.
  const fixed = /[/\\]$/.test(first.text)
    ? resolve(folder, first.text)
    : dirname(resolve(folder, first.text));
  // Symbolic links must not lead out either. The command runs in the resolved path, so that a link changed later has no effect.
  const real = realOf(cwd);
  if (isOutside(cwd, fixed) || isOutside(real, realOf(fixed)))
    throw new ArgumentError(`The arguments lead to a folder outside of ${fixed}.`);
  return real;
}

function isOutside(path: string, folder: string): boolean {
  const difference = relative(folder, path);
  return difference === ".." || difference.startsWith(`..${sep}`) || isAbsolute(difference);
}

/** The path with its links resolved; unchanged if it does not exist, since no command can run there. */
function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function fillEnvironment(declared: CliInvocation["env"], run: Filling): Record<string, string> {
  return Object.fromEntries(
    (declared ?? []).flatMap(({ name, value }) => {
      const text = fillText(value, run);
      return text === undefined ? [] : [[name, text]];
    }),
  );
}

function hasPlaceholder(template: Template | undefined): boolean {
  return template?.some((part) => part.kind !== "text") ?? false;
}
