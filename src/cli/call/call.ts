// `portolan call`: calls one tool, with arguments as words, as a pasted call, or as JSON.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import { type Diagnostic, invalidArguments, PortolanError } from "../../errors/index.ts";
import { type CallToolResult, isObject, type JsonObject, type ToolDefinition } from "../../model/index.ts";
import { deniedTargets, withoutDenialText } from "../../upstream/index.ts";
import {
  callArguments,
  checkNames,
  type Pair,
  type Problem,
  toArguments,
  withHomes,
} from "../arguments/arguments.ts";
import { parseCallWords, parseWholeArguments } from "../arguments/call-words.ts";
import { looksLikeCall, parseCall, type ParsedCall } from "../arguments/signature-parse.ts";
import { printSignature } from "../arguments/signature-print.ts";
import type { Cli, CliIo, Words } from "../context.ts";
import { isFailedAccess, noteDiagnostic } from "../output/diagnostic.ts";
import type { Session } from "../target/connect.ts";
import { findNamed, toolNotFound } from "../target/find-named.ts";
import { type ResolvedTarget, resolveName } from "../target/resolve.ts";
import { orProgram, type TargetSessionOptions, withTarget } from "../target/session.ts";
import { plainText } from "../terminal/safe-text.ts";
import { explainLeftOut } from "../workspace/left-out.ts";
import { type ContractCallOptions, contractOf, exitOfResult, metaOf } from "./contract-call.ts";
import { openSaver, renderToolResult, type ResultOptions, showResult } from "./render.ts";
import type { Saver } from "./save-file.ts";

export interface CallOptions extends ResultOptions, ContractCallOptions {
  once?: boolean;
  /** JSON, or `-` for JSON on stdin. */
  args?: string;
}

/** The arguments as they were typed. */
interface Given {
  readonly pairs: readonly Pair[];
  readonly problems: readonly Problem[];
  readonly json: JsonObject | undefined;
  /** A word begins like JSON, which a shell changes without quotes. */
  readonly isJson?: boolean;
}

export async function call(cli: Cli, words: Words, options: CallOptions): Promise<number> {
  const [first] = words.words;
  const server = first === undefined ? "" : ` ${shellWord(first)}`;
  const missing = new PortolanError("USAGE", "No tool was given.", {
    hint: `To see the tools: portolan list${server}. To call one: portolan call <server>.<tool> key=value. For a URL, a quoted command or a config file: portolan call <target> <tool> key=value`,
  });
  refuseLeadingOption(words);
  const target = await resolveName(words, cli, missing, { isTool: true });
  if (target.rest.length === 0) throw missing;
  const saver = await openSaver(cli, options);
  const json =
    options.args === undefined
      ? undefined
      : options.args === "-"
        ? parseArgs(await readAll(cli.io), "stdin", "Pipe one JSON object into the command.")
        : parseArgs(
            options.args,
            "--args",
            `Write a JSON object, in quotes for your shell: --args '{"key": "value"}'`,
          );
  return orProgram(cli, target, (one, session) => callIn(cli, one, options, { json, saver, ...session }));
}

async function callIn(
  cli: Cli,
  target: ResolvedTarget,
  options: CallOptions,
  {
    json,
    saver,
    onUnusable,
  }: { readonly json: JsonObject | undefined; readonly saver: Saver } & Pick<
    TargetSessionOptions,
    "onUnusable"
  >,
): Promise<number> {
  const [wanted = "", ...assignments] = target.rest;
  const readText = (path: string): Promise<string> => readFile(resolve(cli.io.cwd, path), "utf8");
  const own = contractOf(target, wanted);
  const meta = await metaOf(options, own, cli);
  return withTarget(
    cli,
    target,
    async ({ connection, label, gateway, request, otherNames, withheld }) => {
      const tools = await connection.listToolDefinitions(request("listing the tools"));
      const { tool, parsed } = findTool(wanted, tools, label, {
        otherNames,
        withheld,
        reason: (name) =>
          own?.hint(connection.diagnostics) ??
          (target.kind === "direct" ? undefined : explainLeftOut(target.source, name, cli)),
      });
      // Only with the tool's schema is it known which values are positional.
      const whole =
        json === undefined && parsed === undefined
          ? parseWholeArguments(assignments, tool.inputSchema)
          : undefined;
      const pairs = whole === undefined ? assignments : [];
      const given: Given = {
        json: json ?? whole,
        ...(await parseCallWords(pairs, tool.inputSchema, readText)),
      };
      const isJson = pairs.some((word) => /(?:^|=)\s*[{[]/.test(word));
      const input = toInput(tool, parsed, { ...given, isJson }, label);
      const answer = await connection.callTool(tool.name, input, {
        ...request(`calling ${tool.name}`),
        meta,
      });
      const result =
        gateway === undefined
          ? answer
          : { ...answer, _meta: { ...answer._meta, "portolan/gateway": gateway } };
      const denials = denialsIn(answer, connection.diagnostics);
      if (gateway !== undefined) for (const one of denials.diagnostics) noteDiagnostic(one, cli);
      const { output } = cli;
      // A person reads stderr too, and each denial once.
      const isNoted = output.form === "text" && own === undefined && denials.areAll;
      const shown = isNoted ? withoutDenialText(result) : result;
      const saveText = options.out !== undefined && !hasBytes(result);
      await showResult(shown, renderToolResult, cli, saver, { out: options.out, saveText });
      if (result.isError === true && output.form === "text")
        output.note(`${output.noteColors.red("error")} ${plainText(tool.name)} returned an error`);
      return exitOfResult(result);
    },
    { stdinTaken: options.args === "-", concerns: own?.concerns, onUnusable },
  );
}

/**
 * The diagnostics about the denials of a call, and whether each denial has one. Servers of this process report denials while the
 * call runs; those of a gateway report them to the gateway.
 */
function denialsIn(
  result: CallToolResult,
  diagnostics: readonly Diagnostic[],
): { readonly diagnostics: readonly Diagnostic[]; readonly areAll: boolean } {
  const targets = deniedTargets(result);
  const names = (diagnostic: Diagnostic, target: string): boolean =>
    isFailedAccess(diagnostic) && diagnostic.message.includes(target);
  return {
    diagnostics: diagnostics.filter((one) => targets.some((target) => names(one, target))),
    areAll: targets.every((target) => diagnostics.some((one) => names(one, target))),
  };
}

/** Options of a tool stand after it, so one before it is a mistake. The text after = may be a secret. */
function refuseLeadingOption({ words: [first = ""] }: Words): void {
  if (!first.startsWith("-")) return;
  throw new PortolanError("USAGE", `unknown option '${first.replace(/=.*$/s, "")}'`, {
    hint: "To see the options of this command: portolan call --help. Write arguments of the tool after the name of the tool: portolan call <server>.<tool> --key value",
  });
}

function findTool(
  wanted: string,
  tools: readonly ToolDefinition[],
  server: string,
  {
    otherNames,
    withheld,
    reason,
  }: Pick<Session, "otherNames" | "withheld"> & { reason: (name: string) => string | undefined },
): { tool: ToolDefinition; parsed: ParsedCall | undefined } {
  const find = (word: string): ToolDefinition | undefined => findNamed(word, "tool", tools, otherNames);
  const named = find(wanted);
  if (named !== undefined) return { tool: named, parsed: undefined };
  const parsed = looksLikeCall(wanted) ? parseCall(wanted) : undefined;
  const typed = parsed?.name ?? wanted;
  const tool = find(typed);
  if (tool !== undefined) return { tool, parsed };
  const refused = withheld?.(typed);
  if (refused !== undefined) throw refused;
  throw toolNotFound(typed, server, tools, reason, otherNames);
}

/** Builds the tool's input. Throws one INPUT_INVALID error that lists every error in the arguments. */
function toInput(
  tool: ToolDefinition,
  parsed: ParsedCall | undefined,
  given: Given,
  server: string,
): JsonObject {
  if (parsed !== undefined && given.json !== undefined)
    throw new PortolanError(
      "USAGE",
      "The call has arguments both in parentheses and with --args. Use only one of them.",
    );
  const fromCall = parsed === undefined ? undefined : callArguments(parsed, tool.inputSchema);
  const base = withHomes(fromCall?.value ?? given.json ?? {});
  const merged = toArguments(given.pairs, tool.inputSchema, base);
  const problems = [
    ...given.problems,
    ...(fromCall?.problems ?? []),
    ...(given.json === undefined ? [] : checkNames(given.json, tool.inputSchema)),
    // A parameter that still holds its type is reported as that, and not as missing too.
    ...merged.problems.filter(
      ({ key }) => !parsed?.problems.some((problem) => problem.startsWith(`${key}: `)),
    ),
  ];
  if (problems.length === 0) return merged.value;
  throw invalidArguments({
    ...{ server, tool: tool.name, data: { problems } },
    problems: problems.map(({ key, message }) => `${key} ${message}`.trim()),
    hint: `${given.isJson === true ? "Put JSON in single quotes, so that the shell does not change it. " : ""}${printSignature(tool).signature.slice(0, 1_000)}`,
  });
}

function hasBytes(result: CallToolResult): boolean {
  return (result.content ?? []).some(
    (block) =>
      typeof block["data"] === "string" ||
      (isObject(block["resource"]) && typeof block["resource"]["blob"] === "string"),
  );
}

function parseArgs(text: string, source: string, hint: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch (cause) {
    const reason = text.trim() === "" ? "empty" : `not JSON: ${(cause as Error).message}`;
    throw new PortolanError("USAGE", `${source} is ${reason}.`, { cause, hint });
  }
  if (!isObject(value)) throw new PortolanError("USAGE", `${source} must be a JSON object.`, { hint });
  return value;
}

const MAX_STDIN_BYTES = 64 * 1024 * 1024;

async function readAll(io: CliIo): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of io.stdin) {
    const bytes = Buffer.from(chunk as Uint8Array);
    size += bytes.length;
    if (size > MAX_STDIN_BYTES) throw new PortolanError("USAGE", "stdin contains more than 64 MiB.");
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}
