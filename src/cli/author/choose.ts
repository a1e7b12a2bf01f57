// Selects the tools of a driver and the contract that each serves, by options or by prompts; the other prompts of `portolan author`.

import { didYouMean, PortolanError } from "../../errors/index.ts";
import type { Contract, ToolDefinition } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import type { Prompter } from "../terminal/prompter.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { bindTool, type Bound, isDeprecated, type Matches, matchTools } from "./bind.ts";
import { type Kept, NOTHING_KEPT } from "./kept-bindings.ts";
import { isContractId } from "./names.ts";

export interface Choice {
  readonly tool: ToolDefinition;
  /** Undefined: a new contract. */
  readonly bound: Bound | undefined;
  /** The id of the new contract. */
  readonly newId?: string;
  /** A contract that the tool might serve. It is only mentioned, because the match is uncertain. */
  readonly near?: string;
  /** True if the user named the contract, so that no other is tried. */
  readonly demanded?: boolean;
  /** Notes for the user. */
  readonly notes?: readonly string[];
}

/** Thrown when the user cancels a prompt. */
export class PromptCancelled extends Error {}

/** `wanted` are words such as `a`, `b=contract`. Without them: the tools that the driver has already, or else all tools. */
export function chooseByFlags(
  tools: readonly ToolDefinition[],
  contracts: readonly Contract[],
  wanted: readonly string[] | undefined,
  kept: Kept = NOTHING_KEPT,
): readonly Choice[] {
  if (wanted === undefined) {
    if (kept.choices.length > 0) return kept.choices;
    const current = currentOf(tools);
    const matched = matchTools(contracts, current);
    return current.map((tool) => byItself(tool, matched));
  }
  const asked = wanted.map((word) => {
    const at = word.indexOf("=");
    const name = at < 0 ? word : word.slice(0, at);
    const tool = tools.find((one) => one.name === name);
    if (tool === undefined)
      throw unknown(
        `The server has no tool ${JSON.stringify(name)}.`,
        name,
        tools.map((one) => one.name),
      );
    const id = at < 0 ? undefined : word.slice(at + 1);
    const before = kept.choices.filter(
      (one) => one.tool.name === name && (id === undefined || one.bound?.contract.id === id),
    );
    return { tool, id, before };
  });
  const named = asked.flatMap(
    ({ id, before }) => id ?? before.flatMap(({ bound }) => bound?.contract.id ?? []),
  );
  const twice = named.find((id, index) => named.indexOf(id) !== index);
  if (twice !== undefined)
    throw new PortolanError("USAGE", `--tools gives the contract ${JSON.stringify(twice)} to two tools.`, {
      hint: "A driver serves a contract with one tool. Give one of the two tools another contract.",
    });
  const free = contracts.filter((contract) => !named.includes(contract.id));
  const open = asked.flatMap(({ tool, id, before }) =>
    id === undefined && before.length === 0 ? [tool] : [],
  );
  const matched = matchTools(free, open);
  return asked.flatMap(({ tool, id, before }) => {
    if (before.length > 0) return before;
    return id === undefined ? byItself(tool, matched) : demanded(tool, id, contracts);
  });
}

/** An uncertain match is only mentioned in the output. */
function byItself(tool: ToolDefinition, { sure, near }: Matches): Choice {
  const bound = sure.get(tool.name);
  return { tool, bound, near: near.get(tool.name)?.contract.id, notes: bound && partNotes(bound) };
}

/** Without deprecated tools, unless all are deprecated. */
function currentOf(tools: readonly ToolDefinition[]): readonly ToolDefinition[] {
  const current = tools.filter((tool) => !isDeprecated(tool));
  return current.length === 0 ? tools : current;
}

/** An existing contract must fit the tool; a missing one is created under the given id. */
function demanded(tool: ToolDefinition, id: string, contracts: readonly Contract[]): Choice {
  const contract = contracts.find((one) => one.id === id);
  if (contract === undefined) {
    if (!isContractId(id))
      throw new PortolanError("USAGE", `${JSON.stringify(id)} is not a valid contract id.`, {
        hint: "An id has 2 to 80 small letters, digits, dots and dashes, and begins with a letter or a digit. Example: note-read. If no contract has the id, portolan author creates the contract.",
      });
    const near = didYouMean(
      id,
      contracts.map((one) => one.id),
    );
    const notes =
      near === undefined ? [] : [`The contract ${id} does not exist, so portolan author creates it. ${near}`];
    return { tool, bound: undefined, newId: id, notes };
  }
  const bound = bindTool(contract, tool, { guess: true });
  if (bound !== undefined) return { tool, bound, notes: guessesOf(bound), demanded: true };
  throw new PortolanError("FILE_INVALID", `The tool ${tool.name} does not fit the contract ${id}.`, {
    hint: `The inputs or the result of the tool differ from those of the contract. Give the tool a new contract (--tools ${tool.name}=<new-id>), or write the binding into DRIVER.md by hand.`,
  });
}

/** Notes about mapped arguments, because equal names do not prove an equal meaning. */
function guessesOf(bound: Bound): readonly string[] {
  const { contract, tool, draft } = bound;
  const pairs = Object.entries(draft.argumentMapping ?? {}).map(([from, to]) => `${from} as ${to}`);
  return pairs.length === 0
    ? partNotes(bound)
    : [
        `The mapping of the inputs of ${contract.id} to the arguments of ${tool.name} is a guess: ${pairs.join(", ")}. Check argument_mapping in DRIVER.md.`,
        ...partNotes(bound),
      ];
}

/** Notes about the selected part of a result, because other parts have a fitting type too. */
function partNotes({ contract, tool, draft, others }: Bound): readonly string[] {
  const { resultExtract = "$" } = draft;
  return others.length === 0 || resultExtract === "$"
    ? []
    : [
        `The output of ${contract.id} is ${resultExtract} of the result of ${tool.name}; ${others.slice(0, 4).join(", ")} would match as well. Check result_extract in DRIVER.md.`,
      ];
}

export async function chooseByAsking(
  tools: readonly ToolDefinition[],
  contracts: readonly Contract[],
  prompter: Prompter,
  signal: AbortSignal,
  { choices: before }: Kept = NOTHING_KEPT,
): Promise<readonly Choice[]> {
  const served = before.flatMap(({ bound }) => bound?.contract.id ?? []);
  const matched = matchTools(
    contracts.filter(({ id }) => !served.includes(id)),
    tools,
  );
  const initial = before.length === 0 ? currentOf(tools) : before.map(({ tool }) => tool);
  const names = await prompter.multiselect({
    message:
      "Which tools of the server should the driver offer? Portolan binds each selected tool to a contract.",
    options: tools.map(({ name }) => ({ value: name, label: plainLine(name, 60) })),
    initial: [...new Set(initial.map(({ name }) => name))],
    required: true,
    signal,
  });
  if (names === undefined) throw new PromptCancelled();
  const choices: Choice[] = [];
  for (const tool of tools.filter(({ name }) => names.includes(name))) {
    const kept = before.filter((one) => one.tool.name === tool.name);
    if (kept.length > 0) {
      choices.push(...kept);
      continue;
    }
    const sure = matched.sure.get(tool.name);
    const bound = sure ?? matched.near.get(tool.name);
    const confirmed = bound && (await confirm(bound, sure !== undefined, prompter, signal));
    choices.push({ tool, bound: confirmed, notes: confirmed && guessesOf(confirmed) });
  }
  return choices;
}

/** An uncertain match is offered, but is not the default. */
async function confirm(
  bound: Bound,
  isSure: boolean,
  prompter: Prompter,
  signal: AbortSignal,
): Promise<Bound | undefined> {
  const { contract, tool, draft } = bound;
  const pairs = Object.entries(draft.argumentMapping ?? {}).map(
    ([from, to]) => `, with the input ${from} as the argument ${to}`,
  );
  const existing = {
    value: "existing",
    label: `the contract ${contract.id}@${contract.version}, which the tool ${isSure ? "matches" : "may match"}${plainLine(pairs.join(""), 100)}`,
  };
  const fresh = { value: "new", label: "a new contract for this tool" };
  const answer = await prompter.select({
    message: `Which contract does the tool ${plainLine(tool.name, 60)} serve?`,
    options: isSure ? [existing, fresh] : [fresh, existing],
    initial: isSure ? "existing" : "new",
    signal,
  });
  if (answer === undefined) throw new PromptCancelled();
  return answer === "existing" ? bound : undefined;
}

function unknown(message: string, word: string, known: readonly string[]): PortolanError {
  return new PortolanError("USAGE", message, {
    hint:
      didYouMean(word, known) ??
      (known.length === 0 ? undefined : `Tools of the server: ${known.slice(0, 20).join(", ")}.`),
  });
}

const ID = /^[a-z0-9][a-z0-9.-]{1,79}$/;

/** The id of the driver: the given one, or one made from the name of the server. */
export function idOf(name: string, given: string | undefined): string {
  if (given !== undefined && !ID.test(given))
    throw new PortolanError("USAGE", `--id ${JSON.stringify(given)} is not a valid driver id.`, {
      hint: "An id has 2 to 80 small letters, digits, dots and dashes, and begins with a letter or a digit. Example: filesystem-mcp.",
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
    check: (text) =>
      ID.test(text)
        ? undefined
        : "2 to 80 small letters, digits, dots and dashes; a letter or a digit first.",
    signal,
  });
  if (answer === undefined) throw new PromptCancelled();
  return answer;
}

/** Asks before files are written. Without a terminal, they are written. */
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
      {
        value: "yes",
        label:
          "yes; a file that exists with other content stays, and the new text goes into <file>.new beside it",
      },
      { value: "no", label: "no, only show the files" },
    ],
    initial: "yes",
    signal,
  });
  if (answer === undefined) throw new PromptCancelled();
  return answer === "yes";
}

/** Undefined if there is no terminal for prompts. */
export function prompterOf({ io, output, options }: Cli): (() => Promise<Prompter>) | undefined {
  const interactive =
    options.input && io.stdin.isTTY === true && io.stderr.isTTY === true && output.form === "text";
  return interactive ? () => io.createPrompter(output.noteColors.enabled) : undefined;
}
