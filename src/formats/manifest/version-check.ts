// A version check that cannot come true, found while it is written and not when the server starts.

import { parseRange, splitCommandLine } from "../../model/index.ts";
import { nodeAt, type Problems, quoted, type TextNode } from "../text/index.ts";

export interface CheckedVersionCheck {
  readonly cmd?: string;
  readonly parse?: string;
  readonly range?: string;
}

/** `node` is that of the block. */
export function checkVersionCheck(
  { cmd, parse, range }: CheckedVersionCheck,
  node: TextNode | undefined,
  problems: Problems,
): void {
  const at = (name: string): TextNode | undefined => nodeAt(node, name);
  const [command, pattern, versions] = [at("cmd"), at("parse"), at("range")];
  if (cmd !== undefined && command !== undefined) checkCommand(cmd, command, problems);
  if (parse !== undefined && pattern !== undefined) checkPattern(parse, pattern, problems);
  if (range !== undefined && versions !== undefined && parseRange(range) === undefined)
    problems.add(
      versions,
      `version_check.range ${quoted(range)} is not a range of versions`,
      'Write it as npm does: "^1.0.0", ">=0.5", "1.x || 2.x".',
    );
}

function checkCommand(cmd: string, place: TextNode, problems: Problems): void {
  // A reference was refused already, for a better reason than its $.
  if (problems.within(place)) return;
  const words = splitCommandLine(cmd);
  if ("problem" in words)
    problems.add(
      place,
      `version_check.cmd cannot be used: ${words.problem}`,
      "Write one program and its arguments.",
    );
}

function checkPattern(parse: string, place: TextNode, problems: Problems): void {
  const groups = groupsOf(parse);
  if (groups === undefined)
    problems.add(
      place,
      "version_check.parse is not a regular expression",
      "Write for example v(\\d+\\.\\d+\\.\\d+).",
    );
  else if (groups === 0)
    problems.add(
      place,
      "version_check.parse has no group",
      "Put the part that is the version into parentheses: v(\\d+\\.\\d+\\.\\d+).",
    );
}

/** With an empty alternative it matches at once, whatever it is: that is enough to count. */
function groupsOf(pattern: string): number | undefined {
  try {
    // Read by itself first: what stands before the | must be whole.
    void new RegExp(pattern);
    return (new RegExp(`|${pattern}`).exec("")?.length ?? 1) - 1;
  } catch {
    return undefined;
  }
}
