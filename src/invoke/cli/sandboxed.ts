// Commands of an mcpfile that declares a sandbox: each command runs in a sandbox of its own.

import { isAbsolute } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import type { Report } from "../../errors/index.ts";
import {
  type LaunchContext,
  type LaunchNews,
  type LaunchRequest,
  planned,
  prepare,
} from "../../launch/index.ts";
import {
  BUILT_IN_CALLERS,
  type CliInvocation,
  type CliPart,
  type CliWord,
  type InvokedServer,
  type JsonObject,
  type ReportDenied,
  type SandboxConfig,
  type Template,
} from "../../model/index.ts";
import { createLaunchDiagnostics, type PathDenial, reportsFailedAccess } from "../../upstream/index.ts";
import { listOperations } from "../operations.ts";
import type { Spawnable } from "../../process/index.ts";
import type { Outcome, Run } from "../types.ts";
import type { BuiltCommand } from "./command.ts";

export interface SandboxContext {
  readonly name: string;
  readonly report: Report;
  readonly launchContext?: LaunchContext;
  /** The folder of the package that the file comes from. */
  readonly packageFolder?: string;
  /** Reports hosts that the sandbox refused to a command. */
  readonly reportDenied: ReportDenied;
  /** The command that grants more to the sandbox of the file, up to its options. */
  readonly grantCommand?: string;
  /** Called for each path that a sandbox denied to a command. */
  readonly onDeniedPath?: (denied: PathDenial) => void;
}

/** A command in its sandbox, and the search for paths that the sandbox denied to it. */
export interface SandboxedCommand {
  readonly spawnable: Spawnable;
  /** Adds the denied paths and hosts to the outcome, and reports the paths. */
  readonly explain: (outcome: Outcome, run: Pick<Run, "args" | "caller">) => Outcome;
}

export async function sandboxCommand(
  command: BuiltCommand,
  invocation: CliInvocation,
  place: SandboxContext,
): Promise<SandboxedCommand> {
  const { name, report, reportDenied, launchContext: context, packageFolder } = place;
  // Each command has a sandbox of its own, so each has its own search for denied paths.
  const { onLaunch, checkResult } = createLaunchDiagnostics(name, report, undefined, {
    command: place.grantCommand,
    onDeniedPath: place.onDeniedPath,
    reportDenied,
  });
  const prepared = await prepare({
    ...commandRequest(command, invocation, name),
    programFolders: packageFolder === undefined ? [] : [packageFolder],
    report,
    context,
    onLaunch: (event) => {
      if (event.type === "denied") onLaunch(event);
    },
  });
  const { spawnable, plan } = prepared;
  // The arguments of a call may name any path; only one that the command failed at is a denial.
  onLaunch({ ...planned(prepared), plan: { ...plan, notGranted: [] } } as LaunchNews);
  return {
    spawnable: { ...spawnable, cwd: spawnable.cwd ?? command.cwd },
    explain: (outcome, { args, caller }) => {
      const content = [outcome.stderr ?? "", outcome.bytes.toString("utf8")].map((text) => ({
        type: "text",
        text,
      }));
      const call = { method: "tools/call", params: { arguments: args }, caller };
      const checked = checkResult({ content, isError: outcome.failure !== undefined }, call);
      const added = (checked.content as typeof content).slice(content.length).map(({ text }) => text);
      if (added.length === 0 && plan.sandbox.backend !== "none" && mayBeDenied(outcome))
        added.push(sandboxNote(name, caller));
      const notes = [...(outcome.notes ?? []), ...added];
      return { ...outcome, meta: { ...outcome.meta, ...(checked._meta as JsonObject | undefined) }, notes };
    },
  };
}

/** Whether a command failed with a message about an access, without a path or host that the sandbox denied. */
function mayBeDenied({ failure, stderr = "" }: Outcome): boolean {
  return failure !== undefined && reportsFailedAccess(stderr);
}

/** A named caller of a gateway cannot run the command. */
function sandboxNote(name: string, caller: Run["caller"]): string {
  const isOperator = BUILT_IN_CALLERS.has(caller?.account ?? "local");
  const next = isOperator ? ` To see its grants: portolan why --plan ${shellWord(name)}` : "";
  return `Note: this command ran in a sandbox.${next}`;
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
  context: Omit<SandboxContext, "reportDenied" | "onDeniedPath">,
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
