// Splits a command line of a config into words, and throws if it cannot be used.

import { splitCommandLine } from "../base/text/command-line.ts";
import { PortolanError } from "../errors/index.ts";

export function splitCommand(text: string): readonly string[] {
  const words = splitCommandLine(text);
  if (!("problem" in words)) return words;
  const message = `The command ${JSON.stringify(text)} cannot be used: ${words.problem}.`;
  throw new PortolanError("CONFIG_INVALID", message, { hint: "Write one program and its arguments." });
}
