// Commands of an mcpfile that declares a sandbox: each command runs in a sandbox of its own.

import { isAbsolute } from "node:path";
import type { Report } from "../../errors/index.ts";
import { type LaunchContext, type LaunchRequest, prepare } from "../../launch/index.ts";
import type {
  CliInvocation,
  CliPart,
  CliWord,
  InvokedServer,
  ReportDenied,
  SandboxConfig,
  Template,
} from "../../model/index.ts";
import { listOperations } from "../operations.ts";
import type { Spawnable } from "../../process/index.ts";
import type { BuiltCommand } from "./command.ts";

export interface SandboxContext {
  readonly name: string;
  readonly report: Report;
  readonly launchContext?: LaunchContext;
  /** The folder of the package that the file comes from. */
  readonly packageFolder?: string;
  /** Reports hosts that the sandbox refused to a command. */
  readonly reportDenied: ReportDenied;
}

export async function sandboxCommand(
  command: BuiltCommand,
  invocation: CliInvocation,
  { name, report, reportDenied, launchContext: context, packageFolder }: SandboxContext,
): Promise<Spawnable> {
  const { spawnable } = await prepare({
    ...commandRequest(command, invocation, name),
    programFolders: packageFolder === undefined ? [] : [packageFolder],
    report,
    context,
    onLaunch: (event) => {
      if (event.type === "denied") reportDenied(event, invocation.sandbox?.network ?? []);
    },
  });
  return { ...spawnable, cwd: spawnable.cwd ?? command.cwd };
}

/** The launch request of a command, for running it and for planning it. */
export function commandRequest(
  { program, args, cwd, env }: BuiltCommand,
  { sandbox, cwd: template, words, shell }: CliInvocation,
  server: string,
): LaunchRequest {
  // A working folder that the arguments choose is not granted to the sandbox.
  const isFixed = template !== undefined && template.every(({ kind }) => kind === "text");
  return {
    server,
    endpoint: { command: program, args, cwd, env },
    ownArgs: shell === undefined ? fixedWords(words, template) : ["-c"],
    settings: { sandbox, cwdImplied: !isFixed },
  };
}

/** The words that stand in the file. Paths in arguments of a call, or in a folder that they choose, grant no access. */
function fixedWords([, ...words]: readonly CliWord[], cwd: Template | undefined): string[] {
  const isChosenByCall = cwd?.some(({ kind }) => kind !== "text") ?? false;
  return words
    .flatMap((word) => (word.kind === "word" && word.parts.every(isText) ? [word.parts] : []))
    .map((parts) => parts.map((part) => (isText(part) ? part.text : "")).join(""))
    .filter((word) => word.startsWith("-") || !isChosenByCall || isAbsolute(word));
}

function isText(part: CliPart): part is Extract<CliPart, { kind: "text" }> {
  return part.kind === "text";
}

/** Throws when a sandbox that the file declares cannot be enforced on this machine; then the server does not start. */
export async function checkSandboxes(
  server: InvokedServer,
  context: Omit<SandboxContext, "reportDenied">,
): Promise<void> {
  const declared = new Map<string, SandboxConfig>();
  for (const { invocation } of listOperations(server))
    if (invocation.kind === "cli" && invocation.sandbox !== undefined)
      declared.set(JSON.stringify(invocation.sandbox), invocation.sandbox);
  for (const sandbox of declared.values()) {
    const { spawnable } = await prepare({
      server: context.name,
      endpoint: { command: process.execPath, cwd: server.folder },
      settings: { sandbox, cwdImplied: true },
      programFolders: server.packageFolder === undefined ? [] : [server.packageFolder],
      report: context.report,
      context: context.launchContext,
    });
    spawnable.spawned(false);
    spawnable.ended();
  }
}
