// Commands of an mcpfile that declares a sandbox: each runs in a box of its own.

import { isAbsolute } from "node:path";
import type { Report } from "../../errors/index.ts";
import { type LaunchRequest, prepare } from "../../launch/index.ts";
import type {
  CliInvocation,
  CliPart,
  CliWord,
  InvokedServer,
  ReportDenied,
  SandboxDeclaration,
  Template,
} from "../../model/index.ts";
import type { BuiltCommand } from "./command.ts";
import type { Command } from "./process.ts";

export interface BoxPlace {
  readonly name: string;
  readonly report: Report;
  /** Hears of hosts that a command was refused. */
  readonly reportDenied: ReportDenied;
}

export async function boxCommand(
  command: BuiltCommand,
  invocation: CliInvocation,
  { name, report, reportDenied }: BoxPlace,
): Promise<Command> {
  const { spawnable } = await prepare({
    ...commandRequest(command, invocation, name),
    report,
    onLaunch: (news) => {
      if (news.type === "denied") reportDenied(news, invocation.sandbox?.network ?? []);
    },
  });
  const { file, ...rest } = spawnable;
  return { program: file, ...rest, cwd: spawnable.cwd ?? command.cwd };
}

/** What is asked for, whether it is to run or only to be planned. */
export function commandRequest(
  { program, args, cwd, env }: BuiltCommand,
  { sandbox, cwd: template, words, shell }: CliInvocation,
  server: string,
): LaunchRequest {
  // A folder that the arguments of a call choose grants nothing.
  const isFixed = template !== undefined && template.every(({ kind }) => kind === "text");
  return {
    server,
    endpoint: { command: program, args, cwd, env },
    ownArgs: shell === undefined ? fixedWords(words, template) : ["-c"],
    settings: { sandbox, cwdImplied: !isFixed },
  };
}

/** What the file itself says: arguments of a call open nothing, nor does a folder that they choose. */
function fixedWords([, ...words]: readonly CliWord[], cwd: Template | undefined): string[] {
  const isSteered = cwd?.some(({ kind }) => kind !== "text") ?? false;
  return words
    .flatMap((word) => (word.kind === "word" && word.parts.every(isText) ? [word.parts] : []))
    .map((parts) => parts.map((part) => (isText(part) ? part.text : "")).join(""))
    .filter((word) => word.startsWith("-") || !isSteered || isAbsolute(word));
}

function isText(part: CliPart): part is Extract<CliPart, { kind: "text" }> {
  return part.kind === "text";
}

/** Throws when a box that the file declares cannot be held here: then nothing of it is served. */
export async function checkBoxes(
  server: InvokedServer,
  place: Omit<BoxPlace, "reportDenied">,
): Promise<void> {
  const { tools, prompts, resources, resourceTemplates } = server;
  const declared = new Map<string, SandboxDeclaration>();
  for (const { invocation } of [...tools, ...prompts, ...resources, ...resourceTemplates])
    if (invocation.kind === "cli" && invocation.sandbox !== undefined)
      declared.set(JSON.stringify(invocation.sandbox), invocation.sandbox);
  for (const sandbox of declared.values()) {
    const { spawnable } = await prepare({
      server: place.name,
      endpoint: { command: process.execPath, cwd: server.folder },
      settings: { sandbox, cwdImplied: true },
      report: place.report,
    });
    spawnable.spawned(false);
    spawnable.ended();
  }
}
