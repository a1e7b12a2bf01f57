// Splits a command line of a config into words, and throws if it cannot be used.

import { PortolanError } from "../errors/index.ts";
import { splitCommandLine } from "../model/index.ts";

export function splitCommand(text: string): readonly string[] {
  const words = splitCommandLine(text);
  if (!("problem" in words)) return words;
  const message = `The command ${JSON.stringify(text)} cannot be used: ${words.problem}.`;
  throw new PortolanError("CONFIG_INVALID", message, { hint: "Write one program and its arguments." });
}
