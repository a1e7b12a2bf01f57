// What authoring asks on a terminal: the driver's id, and whether to write.

import { PortolanError } from "../../errors/index.ts";
import type { Cli } from "../context.ts";
import type { Prompter } from "../terminal/prompter.ts";
import { TurnedAway } from "./choose.ts";

const ID = /^[a-z0-9][a-z0-9.-]{1,79}$/;

export function idOf(name: string, given: string | undefined): string {
  if (given !== undefined && !ID.test(given))
    throw new PortolanError("USAGE", `--id ${JSON.stringify(given)} is not an id.`, {
      hint: "Small letters, digits, dots and dashes, for example filesystem-mcp.",
    });
  const plain =
    name
      .toLowerCase()
      .replace(/[^a-z0-9.]+/g, "-")
      .replace(/^[-.]+|[-.]+$/g, "") || "server";
  return given ?? `${plain.replace(/-mcp$/, "")}-mcp`;
}

export async function askId(
  name: string,
  prompter: Prompter | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (prompter === undefined) return undefined;
  const answer = await prompter.text({
    message: "What is the driver's id?",
    initial: idOf(name, undefined),
    check: (text) => (ID.test(text) ? undefined : "Small letters, digits, dots and dashes."),
    signal,
  });
  if (answer === undefined) throw new TurnedAway();
  return answer;
}

export async function agrees(
  prompter: (() => Promise<Prompter>) | undefined,
  count: number,
  signal: AbortSignal,
): Promise<boolean> {
  if (prompter === undefined) return true;
  const answer = await (
    await prompter()
  ).select({
    message: `Write ${count} ${count === 1 ? "file" : "files"}?`,
    options: [
      { value: "yes", label: "yes; what is there and differs stays as it is" },
      { value: "no", label: "no, only show them" },
    ],
    initial: "yes",
    signal,
  });
  if (answer === undefined) throw new TurnedAway();
  return answer === "yes";
}

/** Undefined where nobody can be asked. */
export function prompterOf({ io, output, options }: Cli): (() => Promise<Prompter>) | undefined {
  const interactive =
    options.input && io.stdin.isTTY === true && io.stderr.isTTY === true && output.form === "text";
  return interactive ? () => io.createPrompter(output.noteColors.enabled) : undefined;
}
