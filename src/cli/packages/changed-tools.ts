// Changed tool definitions of an update: shown as differences, and approved or withheld.

import { lintDefinition } from "../../packages/index.ts";
import type { Cli } from "../context.ts";
import { answersRequests } from "../input/handlers.ts";
import { changeReader } from "../pins/state.ts";
import { describeDiff } from "../pins/view.ts";
import { count } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { orCancelled } from "./configuration-prompt.ts";
import type { LiveTool } from "./live-tools.ts";

/** A definition that changed keeps its old pin, so that it is withheld, unless a person approves it. */
export async function decideTools(
  cli: Cli,
  { alias, approved }: { readonly alias: string; readonly approved: Readonly<Record<string, string>> },
  live: readonly LiveTool[],
  pins: Readonly<Record<string, string>>,
  raw: { readonly yes?: boolean; readonly acceptTools?: boolean },
): Promise<{ readonly changed: readonly string[]; readonly pins: Readonly<Record<string, string>> }> {
  const names = live.map(({ name }) => name);
  const changed = names.filter(
    (name) => pins[name] !== undefined && Object.hasOwn(approved, name) && approved[name] !== pins[name],
  );
  if (changed.length === 0) return { changed, pins };
  await noteChanges(
    cli,
    alias,
    live.filter(({ name }) => changed.includes(name)),
    approved,
  );
  if (raw.acceptTools === true) return { changed, pins };
  const { output } = cli;
  const shown = plainLine(changed.join(", "), 300);
  output.note(
    `${output.noteColors.yellow("warning")} ${count(changed.length, "tool definition")} changed: ${shown}`,
  );
  if (raw.yes !== true && answersRequests(cli, false)) {
    const prompter = await cli.io.createPrompter(output.noteColors.enabled);
    const answer = orCancelled(
      await prompter.select({
        message: "Approve the changed definitions?",
        options: [
          { value: "no", label: "No, withhold these tools until I approve them" },
          { value: "yes", label: "Yes" },
        ],
        initial: "no",
        signal: cli.interrupt.signal,
      }),
    );
    if (answer === "yes") return { changed, pins };
  }
  const kept = Object.fromEntries(changed.map((name) => [name, approved[name] ?? ""]));
  return { changed, pins: { ...pins, ...kept } };
}

/** Shows the difference of each changed definition. */
async function noteChanges(
  { output, io }: Cli,
  alias: string,
  tools: readonly LiveTool[],
  approved: Readonly<Record<string, string>>,
): Promise<void> {
  if (output.form !== "text" && io.stderr.isTTY !== true) return;
  const changesOf = await changeReader();
  const view = { colors: output.noteColors, width: io.stderr.columns };
  for (const { name, hash, definition } of tools) {
    const findings = lintDefinition(definition);
    const tool = { name, hash, definition, findings, verdict: "changed", approved: approved[name] } as const;
    output.note(`${describeDiff(alias, tool, await changesOf(tool), view)}\n`, true);
  }
}
