// Which tools a driver gets, and which contract each serves: by flags, or by asking.

import { didYouMean, PortolanError } from "../../errors/index.ts";
import type { Contract, ToolDefinition } from "../../model/index.ts";
import type { Prompter } from "../elicit.ts";
import { plainLine } from "../plain-text.ts";
import { type Bound, bindTool, isDeprecated, matchTools } from "./bind.ts";

export interface Choice {
  readonly tool: ToolDefinition;
  /** Undefined: a new contract. */
  readonly bound: Bound | undefined;
}

/** Thrown away when somebody turns away from a question. */
export class TurnedAway extends Error {}

/** `wanted` are words such as `a`, `b=contract`; without them, all tools. */
export function chooseByFlags(
  tools: readonly ToolDefinition[],
  contracts: readonly Contract[],
  wanted: readonly string[] | undefined,
): readonly Choice[] {
  if (wanted === undefined) {
    const current = currentOf(tools);
    const matched = matchTools(contracts, current);
    return current.map((tool) => ({ tool, bound: matched.get(tool.name) }));
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
    return { tool, id: at < 0 ? undefined : word.slice(at + 1) };
  });
  const free = contracts.filter((contract) => !asked.some(({ id }) => id === contract.id));
  const open = asked.flatMap(({ tool, id }) => (id === undefined ? [tool] : []));
  const matched = matchTools(free, open);
  return asked.map(({ tool, id }) => ({
    tool,
    bound: id === undefined ? matched.get(tool.name) : demanded(tool, id, contracts),
  }));
}

/** Without those that are deprecated, unless all are. */
function currentOf(tools: readonly ToolDefinition[]): readonly ToolDefinition[] {
  const current = tools.filter((tool) => !isDeprecated(tool));
  return current.length === 0 ? tools : current;
}

/** A contract that was named must fit; one that is not there yet is made under that name. */
function demanded(tool: ToolDefinition, id: string, contracts: readonly Contract[]): Bound | undefined {
  const contract = contracts.find((one) => one.id === id);
  if (contract === undefined)
    throw unknown(
      `There is no contract ${JSON.stringify(id)} here.`,
      id,
      contracts.map((one) => one.id),
    );
  const bound = bindTool(contract, tool);
  if (bound !== undefined) return bound;
  throw new PortolanError("DECLARATION_INVALID", `The tool ${tool.name} does not fit the contract ${id}.`, {
    hint: "Its inputs or its result are others. Let it have a contract of its own, or write the mapping by hand.",
  });
}

export async function chooseByAsking(
  tools: readonly ToolDefinition[],
  contracts: readonly Contract[],
  prompter: Prompter,
  signal: AbortSignal,
): Promise<readonly Choice[]> {
  const matched = matchTools(contracts, tools);
  const names = await prompter.multiselect({
    message: "Which tools should the driver have?",
    options: tools.map(({ name }) => ({ value: name, label: plainLine(name, 60) })),
    initial: currentOf(tools).map(({ name }) => name),
    required: true,
    signal,
  });
  if (names === undefined) throw new TurnedAway();
  const choices: Choice[] = [];
  for (const tool of tools.filter(({ name }) => names.includes(name))) {
    const bound = matched.get(tool.name);
    choices.push({ tool, bound: bound && (await confirm(bound, prompter, signal)) });
  }
  return choices;
}

async function confirm(bound: Bound, prompter: Prompter, signal: AbortSignal): Promise<Bound | undefined> {
  const { contract, tool } = bound;
  const answer = await prompter.select({
    message: `What does ${plainLine(tool.name, 60)} serve?`,
    options: [
      { value: "existing", label: `the contract ${contract.id}@${contract.version}, which it fits` },
      { value: "new", label: "a new contract of its own" },
    ],
    initial: "existing",
    signal,
  });
  if (answer === undefined) throw new TurnedAway();
  return answer === "existing" ? bound : undefined;
}

function unknown(message: string, word: string, known: readonly string[]): PortolanError {
  return new PortolanError("USAGE", message, {
    hint:
      didYouMean(word, known) ??
      (known.length === 0 ? undefined : `There are: ${known.slice(0, 20).join(", ")}.`),
  });
}
