// The plan of a server that portolan carries out itself: its commands are programs, each with a box of its own, or with none.

import type { PlannedCommand } from "../invoke/index.ts";
import { maskedWords, quoteWord } from "./endpoint-label.ts";
import { describePlan, planJson, type PlanView, wouldStart } from "./plan-view.ts";
import { plainLine } from "./plain-text.ts";
import { renderRows } from "./rows.ts";

export function describeCommands(
  server: string,
  commands: readonly PlannedCommand[],
  view: PlanView,
): string {
  return commands.map((command) => describeCommand(server, command, view)).join("\n\n");
}

function describeCommand(
  server: string,
  { of, words, plan, problem }: PlannedCommand,
  view: PlanView,
): string {
  const title = plainLine(`${server}: ${of}`, 200);
  if (plan !== undefined) return describePlan({ ...plan, server: title }, view);
  const { colors } = view;
  const fate =
    problem === undefined
      ? { name: "sandbox", value: "none is declared: it runs with all your rights", paint: colors.yellow }
      : { name: "error", value: `${plainLine(problem.message, 500)} [${problem.code}]`, paint: colors.red };
  const shown = maskedWords(words).map((word) => quoteWord(plainLine(word, 500)));
  return `${colors.bold(title)}\n${renderRows([{ name: "runs", value: shown.join(" ") }, fate], view)}`;
}

export function commandsJson(server: string, commands: readonly PlannedCommand[]): object {
  return {
    server,
    kind: "commands",
    commands: commands.map(({ of, words, plan, problem }) => ({
      ...{ of, words: maskedWords(words), boxed: plan !== undefined || problem !== undefined },
      ...(plan === undefined ? {} : { plan: planJson(plan) }),
      ...(problem === undefined ? {} : { error: { code: problem.code, message: problem.message } }),
    })),
  };
}

export function allWouldStart(commands: readonly PlannedCommand[]): boolean {
  return commands.every(
    ({ plan, problem }) => problem === undefined && (plan === undefined || wouldStart(plan)),
  );
}
