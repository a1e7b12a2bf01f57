// Launch plans of the commands of an mcpfile, for `portolan why --plan`. It starts no process.

import { resolve } from "node:path";
import { type PortolanError, toPortolanError } from "../../errors/index.ts";
import { type LaunchContext, type LaunchPlan, planLaunch } from "../../launch/index.ts";
import type { CliInvocation, CliPart, InvokedServer, JsonSchema, Template } from "../../model/index.ts";
import { listOperations } from "../operations.ts";
import { commandRequest } from "./sandboxed.ts";
import { findProgram } from "./command.ts";
import { schemaAt } from "./option-guard.ts";

export interface PlannedCommand {
  /** The label of the operation, such as `tool name`. */
  readonly of: string;
  /** The words of the file: a call fills `{name}`, a secret or variable fills `${NAME}`. */
  readonly words: readonly string[];
  /** Absent if the file declares no sandbox for the command, or if the plan failed. */
  readonly plan?: LaunchPlan;
  /** The error with which a call would fail before its process starts. */
  readonly problem?: PortolanError;
}

export async function planCommands(
  server: InvokedServer,
  name: string,
  context?: LaunchContext,
): Promise<PlannedCommand[]> {
  const planned: PlannedCommand[] = [];
  for (const { label, invocation, schema } of listOperations(server))
    if (invocation.kind === "cli")
      planned.push({ of: label, ...(await planOne(invocation, schema, server, name, context)) });
  return planned;
}

async function planOne(
  invocation: CliInvocation,
  schema: JsonSchema,
  { folder }: InvokedServer,
  name: string,
  context: LaunchContext | undefined,
): Promise<Omit<PlannedCommand, "of">> {
  const { shell, cwd: template } = invocation;
  const words = shell === undefined ? wordsOf(invocation) : [shell.program, "-c", textOf(shell.script)];
  if (invocation.sandbox === undefined) return { words };
  const isFixed = template?.every(({ kind }) => kind === "text") ?? true;
  const cwd = isFixed ? resolve(folder, textOf(template ?? [])) : folder;
  const [, ...args] = words;
  const program = findProgram(shell?.program ?? programOf(invocation, schema), cwd);
  const request = commandRequest({ program, args, cwd, env: envOf(invocation) }, invocation, name);
  try {
    return { words, plan: await planLaunch({ ...request, context }) };
  } catch (error) {
    return { words, problem: toPortolanError(error, { server: name }) };
  }
}

function wordsOf({ words }: CliInvocation): string[] {
  return words.map((word) => textOf(word.kind === "word" ? word.parts : [word]));
}

/** The program name. If a call chooses it from an enum, the plan shows the first choice. */
function programOf({ words: [first] }: CliInvocation, schema: JsonSchema): string {
  const parts = first?.kind === "word" ? first.parts : [];
  return parts
    .map((part) => {
      const of = part.kind === "input" ? schemaAt(schema, part.path) : undefined;
      const choice: unknown = of?.const ?? (Array.isArray(of?.enum) ? of.enum[0] : undefined);
      return typeof choice === "string" ? choice : textOf([part]);
    })
    .join("");
}

/** A plan shows only the names of variables. PATH must have its real value, or the program is not found. */
function envOf({ env = [] }: CliInvocation): Record<string, string> {
  const known = env.filter(({ name, value }) => name !== "PATH" || isText(value));
  return Object.fromEntries(known.map(({ name, value }) => [name, textOf(value)]));
}

function isText(template: Template): boolean {
  return template.every(({ kind }) => kind === "text");
}

function textOf(parts: readonly CliPart[]): string {
  return parts.map(partText).join("");
}

function partText(part: CliPart): string {
  switch (part.kind) {
    case "text":
      return part.text;
    case "input":
      return `{${part.path.join(".")}}`;
    case "header":
      return `{headers.${part.name}}`;
    case "env":
      return `\${${part.name}}`;
    case "variable":
      return `{${part.variable.path.join(".")}}`;
  }
}
