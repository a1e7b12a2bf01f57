// Usage errors: wrong words and options of a command line.

import { PortolanError } from "../../errors/index.ts";

/** Throws one USAGE error for all problems, if there are any. */
export function throwUsageErrors(problems: readonly string[]): void {
  if (problems.length > 0) throw new PortolanError("USAGE", problems.join("\n"), { data: { problems } });
}

/** `--start must be eager or lazy, not "x".` There are at least two allowed values. */
export function notAllowed(flag: string, value: string, allowed: readonly string[]): string {
  const values = `${allowed.slice(0, -1).join(", ")} or ${allowed.at(-1) ?? ""}`;
  return `${flag} must be ${values}, not ${JSON.stringify(value)}.`;
}

/** The single word of a command such as `portolan remove <name>`. Throws when there is none, or more than one. */
export function takeOneWord(
  [word, ...more]: readonly string[],
  { command, noun, hint }: { readonly command: string; readonly noun: string; readonly hint: string },
): string {
  if (word !== undefined && more.length === 0) return word;
  const message =
    word === undefined ? `No ${noun} was given.` : `portolan ${command} takes exactly one ${noun}.`;
  throw new PortolanError("USAGE", message, { hint });
}

/** Refuses words before `--` that name a server when the words after it do so as well. */
export function refuseBothSides(
  before: readonly string[],
  after: readonly string[] | undefined,
  noun: "server" | "target",
): void {
  if (after !== undefined && before.length > 0)
    throw new PortolanError("USAGE", `There is a ${noun} both before and after --.`, {
      hint: "Leave out one of them.",
    });
}
