// How the commands of a file would be started: each in its box, or with all rights of whoever starts it. Nothing is run.

import { resolve } from "node:path";
import { type PortolanError, toPortolanError } from "../../errors/index.ts";
import { type LaunchPlan, planLaunch } from "../../launch/index.ts";
import type {
  CliInvocation,
  CliPart,
  Invocation,
  InvokedServer,
  JsonSchema,
  Template,
} from "../../model/index.ts";
import { commandRequest } from "./boxed.ts";
import { findProgram } from "./command.ts";
import { schemaAt } from "./dash.ts";

export interface PlannedCommand {
  /** `tool name`, `prompt name`, `resource uri`. */
  readonly of: string;
  /** As the file has it: `{name}` is for a call to fill, `${NAME}` for a secret or variable. */
  readonly words: readonly string[];
  /** Absent where the file declares no sandbox for it, and where there is a problem. */
  readonly plan?: LaunchPlan | undefined;
  /** Why a call would fail before anything is started. */
  readonly problem?: PortolanError | undefined;
}

interface Named {
  readonly of: string;
  readonly invocation: Invocation;
  readonly schema: JsonSchema;
}

const NO_ARGUMENTS: JsonSchema = {};

export async function planCommands(server: InvokedServer, name: string): Promise<PlannedCommand[]> {
  const planned: PlannedCommand[] = [];
  for (const { of, invocation, schema } of namedOf(server))
    if (invocation.kind === "cli") planned.push({ of, ...(await planOne(invocation, schema, server, name)) });
  return planned;
}

function namedOf({ tools, prompts, resources, resourceTemplates }: InvokedServer): Named[] {
  return [
    ...tools.map(({ definition: { name, inputSchema }, invocation }) => ({
      ...{ of: `tool ${name}`, invocation, schema: inputSchema },
    })),
    ...prompts.map(({ definition: { name }, invocation, inputSchema: schema }) => ({
      ...{ of: `prompt ${name}`, invocation, schema },
    })),
    ...resources.map(({ definition: { uri }, invocation }) => ({
      ...{ of: `resource ${uri}`, invocation, schema: NO_ARGUMENTS },
    })),
    ...resourceTemplates.map(({ definition: { uriTemplate }, invocation, inputSchema: schema }) => ({
      ...{ of: `resource ${uriTemplate}`, invocation, schema },
    })),
  ];
}

async function planOne(
  invocation: CliInvocation,
  schema: JsonSchema,
  { folder }: InvokedServer,
  name: string,
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
    return { words, plan: await planLaunch(request) };
  } catch (error) {
    return { words, problem: toPortolanError(error, { server: name }) };
  }
}

function wordsOf({ words }: CliInvocation): string[] {
  return words.map((word) => textOf(word.kind === "word" ? word.parts : [word]));
}

/** Where a call chooses from a list, its first stands for the others. */
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

/** Only the names are shown; but where programs are looked for must not be a guess. */
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
