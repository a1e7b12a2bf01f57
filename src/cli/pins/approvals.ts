// Approvals: which tools may be pinned, the question to the person at the terminal, and the change of the lock file.

import { basename } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import { type FileChange, toFileChange } from "../../catalog/index.ts";
import { PortolanError } from "../../errors/index.ts";
import { createDefinitionStore, defaultDefinitionFolder, updateLock } from "../../packages/index.ts";
import type { Cli } from "../context.ts";
import { isInteractive } from "../input/handlers.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { criticalFindings, type LintedTool, type LiveServer } from "./live.ts";

export interface ApprovalOptions {
  /** Also pins tools with critical lint findings. */
  allowFindings?: boolean;
  /** Asks nothing. */
  yes?: boolean;
}

/** True when the command can ask the person at the terminal. */
export function canAsk(cli: Cli): boolean {
  return cli.output.form === "text" && cli.options.input && isInteractive(cli);
}

/** A plain question whose first answer is no. Without a terminal nothing is asked. */
export async function confirm(cli: Cli, message: string): Promise<boolean> {
  const prompter = await cli.io.createPrompter(cli.output.noteColors.enabled);
  const answer = await prompter.select({
    message,
    options: [
      { value: "no", label: "No" },
      { value: "yes", label: "Yes" },
    ],
    initial: "no",
    signal: cli.interrupt.signal,
  });
  cli.interrupt.signal.throwIfAborted();
  if (answer === undefined)
    throw new PortolanError("CANCELLED", "Cancelled: the question was not answered.", {
      hint: "The pins that the question is about were not changed. Run the command again, and answer the question.",
    });
  return answer === "yes";
}

export interface Choice {
  readonly approved: readonly LintedTool[];
  /** Tools that stay as they are, and why. */
  readonly refused: readonly { readonly tool: LintedTool; readonly reason: string }[];
}

/** Leaves out tools that cannot be pinned, and those with critical findings unless they are allowed. */
export async function chooseTools(
  cli: Cli,
  server: string,
  tools: readonly LintedTool[],
  { allowFindings = false, yes = false }: ApprovalOptions,
): Promise<Choice> {
  const approved: LintedTool[] = [];
  const refused: { tool: LintedTool; reason: string }[] = [];
  for (const tool of tools) {
    const [critical, ...others] = criticalFindings(tool);
    const more =
      others.length === 0
        ? ""
        : ` (and ${others.length} more critical ${others.length === 1 ? "finding" : "findings"})`;
    if (tool.hash === undefined)
      refused.push({ tool, reason: "its definition is malformed, or the server lists its name twice" });
    else if (critical === undefined || allowFindings) approved.push(tool);
    else if (canAsk(cli) && !yes) {
      const message = `${plainLine(server, 60)}: ${plainLine(tool.name, 100)}: ${plainLine(critical.path, 100)} ${plainLine(critical.message, 200)}${more}. Approve the tool nevertheless?`;
      if (await confirm(cli, message)) approved.push(tool);
      else refused.push({ tool, reason: "you did not approve it" });
    } else refused.push({ tool, reason: `${critical.path} ${critical.message}${more}` });
  }
  return { approved, refused };
}

/** Sets the pins of one server: `change` gets the present ones. Stores the definitions for later differences. Returns the change of the file. */
export async function writePins(
  lockFile: string,
  { key }: Pick<LiveServer, "key">,
  approved: readonly LintedTool[],
  change: (pins: Readonly<Record<string, string>>) => Readonly<Record<string, string>>,
): Promise<FileChange[]> {
  const changes: FileChange[] = [];
  await updateLock(
    lockFile,
    (lock) => {
      const server = lock.servers[key];
      const tools = change(server?.tools ?? {});
      return { ...lock, servers: { ...lock.servers, [key]: { ...server, tools } } };
    },
    (before, after) => changes.push(toFileChange(lockFile, before, after)),
  );
  const store = createDefinitionStore(await defaultDefinitionFolder());
  for (const { hash, definition } of approved) if (hash !== undefined) await store.save(hash, definition);
  return changes;
}

export function toPins(tools: readonly LintedTool[]): Record<string, string> {
  return Object.fromEntries(tools.flatMap(({ name, hash }) => (hash === undefined ? [] : [[name, hash]])));
}

export function describeRefused(
  refused: Choice["refused"],
  server: string,
  command: "pin" | "pins approve",
  { output }: Pick<Cli, "output">,
): string[] {
  if (refused.length === 0) return [];
  const { colors } = output;
  // A changed tool that is not approved still has its old pin.
  const label = command === "pin" ? "not pinned" : "not approved";
  const lines = refused.map(
    ({ tool, reason }) => `  ${colors.red(label)} ${plainLine(tool.name, 100)}: ${plainLine(reason, 300)}`,
  );
  const byFinding = refused.filter(({ tool }) => tool.hash !== undefined);
  if (byFinding.length === 0) return lines;
  const words = command === "pin" ? [] : byFinding.map(({ tool }) => plainLine(shellWord(tool.name), 120));
  const typed = ["portolan", command, server, ...words, "--allow-findings"].join(" ");
  return [...lines, colors.dim(`  To approve the tools with critical findings nevertheless: ${typed}`)];
}

export function lockLabel(lockFile: string): string {
  return basename(lockFile);
}

export function usage(message: string, hint: string): PortolanError {
  return new PortolanError("USAGE", message, { hint });
}
