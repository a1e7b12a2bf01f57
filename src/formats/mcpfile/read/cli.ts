// Reads a `cli` invocation. The command is split into words here, so that an argument of a call never becomes several words.

import type {
  CliInvocation,
  CliPart,
  CliWord,
  SandboxConfig,
  Template,
  TemplatePart,
} from "../../../model/index.ts";
import { noteRelaxedSandbox, type Sandbox } from "../../manifest/index.ts";
import { nodeAt, type ObjectNode, quoted, type ScalarNode, type TextNode } from "../../document/index.ts";
import type { Context } from "./context.ts";
import { narrowSandbox } from "./narrow-sandbox.ts";
import { checkScript, warnOfBackground } from "./script.ts";
import type { Scope } from "./scope.ts";
import type { CliValue } from "../schema/invocation-schema.ts";
import { type Complain, type RawWord, splitWords } from "./split-words.ts";
import {
  type PlaceholderPiece,
  type Piece,
  readPieces,
  readTemplate,
  toPart,
  toTemplate,
} from "./template.ts";
import { readIgnored } from "./unused.ts";
import { orEmpty, readVariables, type Variables } from "./variables.ts";

/** The parts that reading a command needs. */
interface Reading {
  readonly node: ScalarNode;
  readonly variables: Variables;
  readonly scope: Scope;
  readonly context: Context;
  readonly complain: Complain;
}

export function readCli(node: ObjectNode, scope: Scope, context: Context): CliInvocation | undefined {
  const { diagnostics } = context;
  const checked = context.format.cli.read(node, context) ?? {};
  const read = readCommand(node, checked, scope, context);
  const cwd = optionalTemplate(nodeAt(node, "cwd"), scope, context);
  const env = readEnv(nodeAt(node, "env"), scope, context);
  const sandbox = readSandbox(checked.sandbox, node, context);
  const ignored = readIgnored(node, scope, context);
  if (diagnostics.hasErrorIn(node) || read === undefined || context.sandboxBroken === true) return undefined;
  const { words, shell } = read;
  return {
    kind: "cli",
    words,
    shell,
    cwd,
    env,
    appendUnused: checked.appendUnused === true,
    ignored,
    timeoutMs: checked.timeoutMs,
    maxOutputBytes: checked.maxOutputBytes,
    sandbox,
  };
}

/** The words of the command, or the script for a shell; nothing when it is broken. */
function readCommand(
  node: ObjectNode,
  checked: CliValue,
  scope: Scope,
  context: Context,
): Pick<CliInvocation, "words" | "shell"> | undefined {
  const { diagnostics } = context;
  const command = nodeAt(node, "command");
  const pieces =
    checked.command === undefined || command?.kind !== "string"
      ? undefined
      : readPieces(trimmed(command), context);
  const placeholders = pieces?.filter((piece) => piece.kind === "placeholder").map(({ name }) => name);
  // Of a command that is broken it is not known which placeholders it has.
  const variables = readVariables(node, placeholders && new Set(placeholders), scope, context);
  if (pieces === undefined || command?.kind !== "string") return undefined;
  const complain: Complain = (at, message, hint, severity) => {
    diagnostics.add(context.within(command, at), message, hint, severity);
    return undefined;
  };
  const reading: Reading = { node: command, variables, scope, context, complain };
  const program = checked.shell === true ? "bash" : checked.shell;
  if (typeof program !== "string") {
    const words = toWords(pieces, reading);
    return words && { words };
  }
  const script = toScript(pieces, reading);
  const leavesBackground = warnOfBackground(pieces, complain);
  return script && { words: [], shell: { program, script, ...(leavesBackground && { leavesBackground }) } };
}

function readSandbox(
  inner: Sandbox | undefined,
  node: ObjectNode,
  context: Context,
): SandboxConfig | undefined {
  const own = nodeAt(node, "sandbox");
  if (inner !== undefined) noteRelaxedSandbox(inner, own, context);
  return narrowSandbox(context.sandbox, inner, own, context.diagnostics);
}

/** The line break at the end of a block text means nothing. What stands before must keep its place. */
function trimmed(command: ScalarNode): ScalarNode {
  return { ...command, value: String(command.value).trimEnd() };
}

function toWords(pieces: readonly Piece[], reading: Reading): CliWord[] | undefined {
  const { complain } = reading;
  const raw = splitWords(pieces, complain);
  if (raw === undefined) {
    // The names of the placeholders are checked nevertheless, so that all errors of the command are reported at once.
    toTemplate(pieces, (placeholder) => toCliPart(placeholder, false, reading));
    return undefined;
  }
  const [first] = raw;
  if (first === undefined) return complain(0, "the command is empty", "Write the program to run.");
  checkProgram(first, complain);
  warnOfExpansions(raw, complain);
  const words = raw.map((word) => toWord(word, reading));
  return words.every((word) => word !== undefined) ? words : undefined;
}

function toWord(raw: RawWord, reading: Reading): CliWord | undefined {
  const [only, ...more] = raw.parts;
  const alone = only?.kind === "placeholder" && more.length === 0 && !raw.quoted;
  const parts = toTemplate(raw.parts, (placeholder) => toCliPart(placeholder, !alone, reading));
  const [part] = parts ?? [];
  if (parts === undefined) return undefined;
  return alone && part?.kind === "variable" ? part : { kind: "word", parts: orEmpty(parts) };
}

function toScript(pieces: readonly Piece[], reading: Reading): CliPart[] | undefined {
  const { scope, variables, complain } = reading;
  const [first] = pieces;
  if (first?.kind === "placeholder" && !first.env) programProblem(first.at, complain);
  const isNumber = (placeholder: PlaceholderPiece): boolean =>
    !placeholder.env && !variables.has(placeholder.name) && scope.isNumber(placeholder.name);
  const isSafe = checkScript(pieces, isNumber, complain);
  const parts = toTemplate(pieces, (placeholder) => toCliPart(placeholder, false, reading));
  return isSafe ? parts : undefined;
}

/** `inside` of a word the placeholder cannot become several. */
function toCliPart(placeholder: PlaceholderPiece, inside: boolean, reading: Reading): CliPart | undefined {
  const { node, variables, scope, context, complain } = reading;
  if (placeholder.env || !variables.has(placeholder.name)) return toPart(placeholder, node, scope, context);
  const variable = variables.get(placeholder.name);
  if (variable !== undefined && inside && variable.format.length > 1)
    return complain(
      placeholder.at,
      `${quoted(`{${placeholder.name}}`)} becomes ${variable.format.length} words, but it is a part of one word`,
      "Make it a separate word, without quotes, or quote its format.",
    );
  return variable && { kind: "variable", variable };
}

function checkProgram({ parts, at }: RawWord, complain: Complain): void {
  const [first] = parts;
  if (parts.some((part) => part.kind === "placeholder" && !part.env)) programProblem(at, complain);
  else if (parts.some((part) => part.kind === "placeholder"))
    complain(
      at,
      "the program itself cannot be a variable",
      "The file must show which program runs. Write the program, and pass the variable as an argument or in env.",
    );
  else if (first?.kind === "text" && /^[A-Za-z_]\w*=/.test(first.text))
    complain(
      at,
      "a variable before the program needs a shell",
      "Put the variable into env of the command, or write shell: true.",
    );
}

function programProblem(at: number, complain: Complain): void {
  complain(
    at,
    "the caller of the tool cannot choose the program itself",
    "Write the program, and pass values as its arguments.",
  );
}

/** A shell would replace these; without one they arrive as they are written, which is seldom meant. */
function warnOfExpansions(words: readonly RawWord[], complain: Complain): void {
  const warn = (at: number, what: string): undefined =>
    complain(
      at,
      `${what} is passed to the program as literal text`,
      "Write shell: true so that a shell expands it. To keep it as literal text, quote it.",
      "warning",
    );
  for (const { parts, quoted: isQuoted } of words) {
    for (const part of parts) {
      const name = part.kind === "text" && !isQuoted ? /\$[A-Za-z_]\w*|^~(?=\/|$)|\*/.exec(part.text) : null;
      if (name !== null) warn(part.at, name[0]);
    }
  }
}

function readEnv(node: TextNode | undefined, scope: Scope, context: Context): CliInvocation["env"] {
  if (node?.kind !== "object") return undefined;
  return node.entries.flatMap((entry) => {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(entry.key))
      context.diagnostics.add(
        entry,
        `${quoted(entry.key)} is not the name of a variable`,
        "Use letters, digits and _. Do not begin with a digit.",
      );
    const value = optionalTemplate(entry.value, scope, context);
    return value === undefined ? [] : [{ name: entry.key, value }];
  });
}

export function optionalTemplate(
  node: TextNode | undefined,
  scope: Scope,
  context: Context,
): Template | undefined {
  if (node === undefined || node.kind === "object" || node.kind === "list" || node.kind === "null")
    return undefined;
  return readTemplate(node, scope, context) satisfies readonly TemplatePart[] | undefined;
}
