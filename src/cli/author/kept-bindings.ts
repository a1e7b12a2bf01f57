// Bindings of an existing driver, which stay as they are written unless its server has changed.

import { checkDriver } from "../../contracts/index.ts";
import type { Binding, Contract, Driver, ToolDefinition } from "../../model/index.ts";
import { type Bound, bindTool, isDeprecated } from "./bind.ts";
import type { Choice } from "./choose.ts";

export interface Kept {
  /** In the order of the driver; a tool may serve several contracts. */
  readonly choices: readonly Choice[];
  /** Notes about bindings that cannot stay, and about new tools. */
  readonly notes: readonly string[];
}

export const NOTHING_KEPT: Kept = { choices: [], notes: [] };

export function keptBindings(
  driver: Driver,
  contracts: readonly Contract[],
  tools: readonly ToolDefinition[],
  root: string,
): Kept {
  const choices: Choice[] = [];
  const notes: string[] = [];
  const served = new Set(driver.implements.map(({ toolName }) => toolName));
  const others = tools.filter((tool) => !served.has(tool.name) && !isDeprecated(tool));
  for (const binding of driver.implements) {
    const kept = keep(binding, driver, contracts, tools, root);
    if (typeof kept === "string") notes.push(`${kept} The new DRIVER.md does not contain this binding.`);
    else choices.push(kept);
  }
  if (choices.length > 0 && others.length > 0)
    notes.push(
      `The driver ${driver.id} keeps its present tools. It does not use these tools of the server: ${others.map(({ name }) => name).join(", ")}. To add some of them, run the command again, and list all tools of the driver, old and new, with --tools.`,
    );
  return { choices, notes };
}

/** The reason why a binding cannot stay, as a sentence. */
function keep(
  binding: Binding,
  driver: Driver,
  contracts: readonly Contract[],
  tools: readonly ToolDefinition[],
  root: string,
): Choice | string {
  const alone = { ...driver, implements: [binding] };
  const tool = tools.find(({ name }) => name === binding.toolName);
  if (tool === undefined)
    return `The driver ${driver.id} binds the contract ${binding.tool} to the tool ${binding.toolName}, which the server does not have.`;
  const [known] = checkDriver(alone, contracts, undefined, { root }).bound;
  const { bound, diagnostics: problems } = checkDriver(alone, contracts, [tool], { root });
  const wrong = problems.find(({ severity }) => severity === "error")?.message ?? "";
  const [fits] = bound;
  if (fits !== undefined) {
    const { contract, result } = fits;
    const { origin: _origin, ...draft } = binding;
    const own: Bound = {
      ...{ contract, tool, draft, result },
      ...{ likeness: 1, warnings: problems, others: [], kept: true },
    };
    return { tool, bound: own };
  }
  const again = known && bindTool(known.contract, tool, { guess: true });
  if (known === undefined || again === undefined)
    return `The binding of the driver ${driver.id} for the contract ${binding.tool} does not match the server: ${wrong}.`;
  const note = `The binding of the driver ${driver.id} for the contract ${known.contract.id} no longer matches the server (${wrong}). The new DRIVER.md contains a new binding, which is a guess. Check it.`;
  return { tool, bound: again, notes: [note] };
}
