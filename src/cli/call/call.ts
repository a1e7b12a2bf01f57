// `portolan call`: one tool, with arguments in whatever way they are at hand.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type Diagnostic, didYouMean, PortolanError } from "../../errors/index.ts";
import {
  type CallToolResult,
  type Contract,
  isObject,
  type JsonObject,
  type ToolDefinition,
} from "../../model/index.ts";
import {
  callArguments,
  checkNames,
  type Pair,
  parsePairs,
  type Problem,
  toArguments,
} from "../arguments/arguments.ts";
import { readContext } from "../arguments/call-context.ts";
import { looksLikeCall, parseCall, type ParsedCall } from "../arguments/signature-parse.ts";
import { printSignature } from "../arguments/signature-print.ts";
import type { Cli, CliIo, Words } from "../context.ts";
import type { Session } from "../target/connect.ts";
import { findNamed, withoutServer } from "../target/find-named.ts";
import { type ResolvedTarget, resolveName } from "../target/resolve.ts";
import { withTarget } from "../target/session.ts";
import { plainText } from "../terminal/safe-text.ts";
import { contractNamed, driversFor } from "../workspace/contracts.ts";
import { whyLeftOut } from "../workspace/left-out.ts";
import { exitOfResult } from "./contract-exit.ts";
import { renderToolResult } from "./render.ts";
import { openSaver, type ResultOptions, showResult } from "./show-result.ts";

export interface CallOptions extends ResultOptions {
  /** JSON, or `-` for JSON on stdin. */
  args?: string;
  /** Of contracts: only this driver may serve the call. */
  pin?: string;
  /** Of contracts: only drivers of this region may. */
  region?: string;
  /** Of contracts: what the contextSchema asks for, as key=value. */
  context?: string[];
}

/** The arguments as they were given, before the tool's schema is known. */
interface Given {
  readonly pairs: readonly Pair[];
  readonly problems: readonly Problem[];
  readonly json: JsonObject | undefined;
}

export async function call(cli: Cli, words: Words, options: CallOptions): Promise<number> {
  const missing = new PortolanError("USAGE", "No tool is given.", {
    hint: "See what there is with portolan list, then: portolan call <server>.<tool> key=value, or portolan call <target> <tool> key=value",
  });
  const target = await resolveName(words, cli, missing);
  const [wanted, ...assignments] = target.rest;
  if (wanted === undefined) throw missing;
  const saver = await openSaver(cli, options);
  const json =
    options.args === undefined
      ? undefined
      : options.args === "-"
        ? parseArgs(await readAll(cli.io), "stdin", "Pipe one JSON object into the command.")
        : parseArgs(options.args, "--args", `Quote it for your shell: --args '{"key": "value"}'`);
  const given: Given = {
    json,
    ...(await parsePairs(assignments, (path) => readFile(resolve(cli.io.cwd, path), "utf8"))),
  };
  const own = contractOf(target, wanted);
  const meta = await metaOf(options, own, cli);
  return withTarget(
    cli,
    target,
    async ({ connection, label, request, otherNames }) => {
      const tools = await connection.listToolDefinitions(request("listing the tools"));
      const { tool, parsed } = findTool(wanted, tools, label, {
        otherNames,
        reason: (name) =>
          own?.hint(connection.diagnostics) ??
          (target.kind === "direct" ? undefined : whyLeftOut(target.source, name, cli)),
      });
      const input = toInput(tool, parsed, given, label);
      const result = await connection.callTool(tool.name, input, {
        ...request(`calling ${tool.name}`),
        ...(meta === undefined ? {} : { meta }),
      });
      const saveText = options.out !== undefined && !hasBytes(result);
      await showResult(result, renderToolResult, cli, saver, { out: options.out, saveText });
      const { output } = cli;
      if (result.isError === true && output.form === "text")
        output.note(`${output.noteColors.red("error")} ${plainText(tool.name)} reported a failure`);
      return exitOfResult(result);
    },
    { stdinTaken: options.args === "-", concerns: own?.concerns },
  );
}

/** The `_meta` of a contract call, from --pin, --region and --context. */
async function metaOf(
  { pin, region, context }: CallOptions,
  own: OwnContract | undefined,
  cli: Cli,
): Promise<JsonObject | undefined> {
  const flags = { "--pin": pin, "--region": region, "--context": context };
  const given = Object.entries(flags).flatMap(([flag, value]) => (value === undefined ? [] : [flag]));
  if (given.length === 0) return undefined;
  if (own === undefined) {
    throw new PortolanError(
      "USAGE",
      `${given.join(" and ")} ${given.length === 1 ? "is" : "are"} for calls of contracts, which drivers serve.`,
      { hint: "portolan call <contract> key=value --pin <driver>; portolan list contracts shows them." },
    );
  }
  const { CONTEXT_META } = await import("../../contracts/index.ts");
  // A contract that is not there is reported with what is there instead.
  const values = own.contract === undefined ? undefined : await readContext(context, own.contract, cli);
  return {
    ...(values === undefined ? {} : { [CONTEXT_META.values]: values }),
    ...(pin === undefined ? {} : { [CONTEXT_META.pin]: pin }),
    ...(region === undefined ? {} : { [CONTEXT_META.region]: region }),
  };
}

interface OwnContract {
  /** As it is declared; undefined when no file has it. */
  readonly contract: Contract | undefined;
  /** Other drivers are for other calls. */
  readonly concerns: (diagnostic: Diagnostic) => boolean;
  /** Why a contract that is there is no tool. */
  readonly hint: (diagnostics: readonly Diagnostic[]) => string | undefined;
}

/** Undefined when it is no contract that is called. */
function contractOf(target: ResolvedTarget, wanted: string): OwnContract | undefined {
  if (target.kind !== "server") return undefined;
  const endpoint = target.source.config.servers.find(({ alias }) => alias === target.alias)?.endpoint;
  if (endpoint?.transport !== "contracts") return undefined;
  const written = /^\s*(?:function\s+)?["']?([\w./-]+)/.exec(wanted)?.[1] ?? wanted;
  const word = withoutServer(written, target.alias);
  const id = contractNamed(endpoint, word)?.id ?? word;
  const serving = driversFor(endpoint, id);
  const others = new Set(
    endpoint.drivers.map(({ driver }) => driver.id).filter((one) => !serving.includes(one)),
  );
  return {
    contract: endpoint.contracts.find((contract) => contract.id === id),
    concerns: ({ server }) => server === undefined || !others.has(server),
    hint(diagnostics) {
      if (!endpoint.contracts.some((contract) => contract.id === id)) return undefined;
      const [first] = serving;
      if (first === undefined) return `The contract ${id} is there, but no driver serves it.`;
      const refused = serving.filter((driver) =>
        diagnostics.some(({ server, severity }) => server === driver && severity === "error"),
      );
      const named = refused.length === 0 ? serving : refused;
      const what = refused.length === 0 ? "not usable" : "refused";
      return `The contract ${id} is there, but not served (${what}: ${named.join(", ")}). See why: portolan why ${named[0] ?? first}`;
    },
  };
}

function findTool(
  wanted: string,
  tools: readonly ToolDefinition[],
  server: string,
  { otherNames, reason }: Pick<Session, "otherNames"> & { reason: (name: string) => string | undefined },
): { tool: ToolDefinition; parsed: ParsedCall | undefined } {
  const find = (word: string): ToolDefinition | undefined => findNamed(word, "tool", tools, otherNames);
  const named = find(wanted);
  if (named !== undefined) return { tool: named, parsed: undefined };
  const parsed = looksLikeCall(wanted) ? parseCall(wanted) : undefined;
  const typed = parsed?.name ?? wanted;
  const tool = find(typed);
  if (tool !== undefined) return { tool, parsed };
  const name = withoutServer(typed, server);
  throw new PortolanError("TOOL_NOT_FOUND", `${server} has no tool ${JSON.stringify(name)}.`, {
    server,
    hint:
      reason(name) ??
      didYouMean(
        name,
        tools.map((candidate) => candidate.name),
      ) ??
      (tools.length === 0 ? "It has no tools at all." : undefined),
  });
}

/** The tool's input from everything that was given; throws one INPUT_INVALID error that names all that is wrong. */
function toInput(
  tool: ToolDefinition,
  parsed: ParsedCall | undefined,
  given: Given,
  server: string,
): JsonObject {
  if (parsed !== undefined && given.json !== undefined)
    throw new PortolanError(
      "USAGE",
      "Arguments are given both in the call and with --args; use one of them.",
    );
  const fromCall = parsed === undefined ? undefined : callArguments(parsed, tool.inputSchema);
  const base = fromCall?.value ?? given.json ?? {};
  const merged = toArguments(given.pairs, tool.inputSchema, base);
  const problems = [
    ...given.problems,
    ...(fromCall?.problems ?? []),
    ...(given.json === undefined ? [] : checkNames(given.json, tool.inputSchema)),
    // A parameter that still holds its type is told as that, not as missing too.
    ...merged.problems.filter(({ key }) => !parsed?.problems.some((told) => told.startsWith(`${key}: `))),
  ];
  if (problems.length === 0) return merged.value;
  const lines = [...new Set(problems.map(({ key, message }) => `${key} ${message}`.trim()))];
  throw new PortolanError(
    "INPUT_INVALID",
    lines.length === 1
      ? (lines[0] as string)
      : `${lines.length} things are wrong with the arguments:\n- ${lines.join("\n- ")}`,
    {
      server,
      tool: tool.name,
      hint: printSignature(tool).signature.slice(0, 1_000),
      data: { problems },
    },
  );
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
    throw new PortolanError("USAGE", `${source} is ${reason}`, { cause, hint });
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
    if (size > MAX_STDIN_BYTES) throw new PortolanError("USAGE", "stdin holds more than 64 MiB.");
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}
