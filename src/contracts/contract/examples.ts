// Runs the examples of a contract as tests of one driver.

import { isDeepStrictEqual } from "node:util";
import type { Contract } from "../../model/index.ts";
import type { CallContext } from "./call-context.ts";
import type { ContractCall, Dispatched } from "../dispatch/contract-call.ts";

export interface ExampleOutcome {
  readonly example: string;
  readonly driver: string;
  /** `skipped`: the contract has side effects. */
  readonly outcome: "passed" | "failed" | "skipped";
  readonly reason?: string;
}

export interface ExampleOptions {
  readonly context?: CallContext;
  /** Also run contracts with side effects. Default: false. */
  readonly mutating?: boolean;
  readonly signal?: AbortSignal;
}

/** Runs the examples in order, since one may prepare the next. */
export async function runExamples(
  contract: Contract,
  driver: string,
  contracts: { call(call: ContractCall): Promise<Dispatched> },
  { context, mutating = false, signal }: ExampleOptions = {},
): Promise<readonly ExampleOutcome[]> {
  const outcomes: ExampleOutcome[] = [];
  for (const { name, input, output } of contract.examples) {
    const done = (outcome: ExampleOutcome["outcome"], reason?: string): void => {
      outcomes.push({ example: name, driver, outcome, reason });
    };
    if (contract.mutates.length > 0 && !mutating) {
      done("skipped", `the contract changes ${contract.mutates.join(", ")}`);
      continue;
    }
    const { result } = await contracts.call({
      tool: contract.id,
      input,
      context: { ...context, pinnedProvider: driver },
      signal,
    });
    if (!result.ok) done("failed", `${result.error.code}: ${result.error.message}`);
    else if (output !== undefined && !isDeepStrictEqual(result.value, output))
      done("failed", `the output is ${shown(result.value)}, but the example has ${shown(output)}`);
    else done("passed");
  }
  return outcomes;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
