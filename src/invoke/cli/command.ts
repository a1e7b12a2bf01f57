// A command from the arguments of a call: program, words, folder, environment. Nothing is started here.

import { realpathSync } from "node:fs";
import { dirname, isAbsolute, relative, resolve, sep } from "node:path";
import { PortolanError } from "../../errors/index.ts";
import type { CliInvocation, CliWord, JsonSchema, Template } from "../../model/index.ts";
import { Refusal } from "../refusal.ts";
import { schemaAt } from "./dash.ts";
import { prepareScript } from "./shell.ts";
import { createUnusedOptions, type Filling, fillText, fillWords } from "./words.ts";

export interface BuiltCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** What was declared beside the usual. */
  readonly env: Readonly<Record<string, string>>;
}

export interface Place {
  readonly folder: string;
  /** Values for the gaps of scripts; those of everything else are in place already. */
  readonly env: ReadonlyMap<string, string>;
}

/** Throws when the declaration cannot be used. */
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
    if (program === "") throw new Refusal("No program is left to run.");
    return { program: findProgram(program, hasGap(cwd) ? folder : where.cwd), args, ...where };
  };
}

/** Which program runs is for the declaration to say; a caller may at most choose from a list. */
function checkProgram(word: CliWord | undefined, schema: JsonSchema): void {
  const parts = word?.kind === "word" ? word.parts : [];
  const fixed = parts.every((part) => {
    if (part.kind === "text") return true;
    const of = part.kind === "input" ? schemaAt(schema, part.path) : undefined;
    return of?.const !== undefined || Array.isArray(of?.enum);
  });
  if (parts.length === 0 || !fixed)
    throw new PortolanError(
      "DECLARATION_INVALID",
      "the command must begin with the name of a program; only an argument with an enum may be part of it",
    );
}

/** A path is relative to where the command runs, unless a caller can choose that. */
export function findProgram(program: string, folder: string): string {
  return /[/\\]/.test(program) && !isAbsolute(program) ? resolve(folder, program) : program;
}

function fillFolder(template: Template | undefined, folder: string, run: Filling): string {
  const text = template === undefined ? undefined : fillText(template, run);
  if (template === undefined || text === undefined || text === "") return folder;
  const cwd = resolve(folder, text);
  const [first] = template;
  if (!hasGap(template) || first?.kind !== "text" || first.text === "") return cwd;
  // What stands in front of the first gap holds: a value leads further in, never out.
  const fixed = /[/\\]$/.test(first.text)
    ? resolve(folder, first.text)
    : dirname(resolve(folder, first.text));
  // Also not by way of a link. The command runs where the path really leads, so that a link changed later makes no difference.
  const real = realOf(cwd);
  if (isOutside(cwd, fixed) || isOutside(real, realOf(fixed)))
    throw new Refusal(`The arguments lead out of the folder ${fixed}.`);
  return real;
}

function isOutside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way);
}

/** A folder that is not there cannot be run in, and leads nowhere. */
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

function hasGap(template: Template | undefined): boolean {
  return template?.some((part) => part.kind !== "text") ?? false;
}
