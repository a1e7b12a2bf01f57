// What tools really gave, held against what is proposed for them: a schema says what may come, a sample what does.

import { checkDriver } from "../../contracts/index.ts";
import { PortolanError } from "../../errors/index.ts";
import { parseTool, writeTool } from "../../formats/driver/index.ts";
import type { Contract, JsonObject, ToolDefinition } from "../../model/index.ts";
import { createValidator, formatProblem } from "../../schema/index.ts";
import { type Bound, driverOf, waysToBind } from "./bind.ts";
import type { Choice } from "./choose.ts";
import { newContract } from "./new-contract.ts";
import type { Sample } from "./sample.ts";

export interface Sampled {
  readonly choices: readonly Choice[];
  /** By the names of tools. */
  readonly samples: ReadonlyMap<string, Sample>;
}

/** `sample` calls a tool, if it may and can. */
export async function sampleAll(
  choices: readonly Choice[],
  sample: (tool: ToolDefinition) => Promise<Sample | undefined>,
): Promise<Sampled> {
  const samples = new Map<string, Sample>();
  const proved: Choice[] = [];
  for (const choice of choices) {
    const { tool, bound } = choice;
    const taken = samples.get(tool.name) ?? (await sample(tool));
    if (taken === undefined) {
      proved.push(choice);
      continue;
    }
    const found = bound === undefined ? choice : await prove(choice, bound, taken);
    samples.set(tool.name, found.bound === undefined ? { ...taken, odd: await oddity(tool, taken) } : taken);
    proved.push(found);
  }
  return { choices: proved, samples };
}

/** With the first part of the result that was what the contract promises. */
async function prove(choice: Choice, bound: Bound, { result, schema }: Sample): Promise<Choice> {
  const { contract, tool, draft } = bound;
  const guess = choice.demanded === true || bound.kept === true;
  const wrong = await refusal(contract, bound, result);
  if (wrong === undefined) return choice;
  for (const way of waysToBind(contract, tool, { guess, seen: schema })) {
    if ((await refusal(contract, way, result)) !== undefined) continue;
    const { resultExtract = "$" } = way.draft;
    const note = `${contract.id} gets ${resultExtract} of what ${tool.name} gives, since that is what fitted in a sample: check it.`;
    const proved = { ...bound, draft: { ...draft, resultExtract }, result: way.result, others: [] };
    return { ...choice, bound: proved, notes: [...(choice.notes ?? []), note] };
  }
  const said = `What ${tool.name} gave in a sample is not what ${contract.id} promises: ${wrong}`;
  if (guess)
    throw new PortolanError("DECLARATION_INVALID", said, {
      hint: "Let it have a contract of its own, or correct the contract.",
    });
  return { tool, bound: undefined, near: contract.id, notes: [said] };
}

/** Why this result would not become the contract's output. */
async function refusal(
  { outputs }: Contract,
  { result: plan }: Pick<Bound, "result">,
  result: JsonObject,
): Promise<string | undefined> {
  try {
    const value = plan.narrow(plan.extract(result));
    const checked = (await createValidator(outputs)).check(value);
    return checked.valid === false ? checked.problems.map(formatProblem).join("; ") : undefined;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}

/** A new contract says what the server says, which the server itself may not keep to. */
async function oddity(tool: ToolDefinition, sample: Sample): Promise<string | undefined> {
  const made = newContract("sampled", tool, "sampled", sample);
  const { contract } = parseTool(writeTool(made.draft), "TOOL.md");
  if (contract === undefined) return undefined;
  const draft = {
    tool: contract.id,
    range: contract.version,
    toolName: tool.name,
    resultExtract: made.resultExtract,
  };
  const [bound] = checkDriver(driverOf([draft]), [contract], [tool]).bound;
  return bound && refusal(contract, bound, sample.result);
}
