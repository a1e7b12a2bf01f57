// Examples of a contract as tests of a driver; examples with side effects run only on request.

import { expect, test } from "vitest";
import { contract, driver, serve, text, tool } from "../../../test/helpers/contracts.ts";
import type { Contract } from "../../model/index.ts";
import { openContracts } from "../contracts-upstream.ts";
import { runExamples, type ExampleOptions } from "./examples.ts";

async function run(more: Partial<Contract>, options?: ExampleOptions): Promise<unknown[]> {
  const one = contract(more);
  const { upstream } = await serve({ tools: [tool()], call: (_, { path }) => text(`of ${String(path)}`) });
  const contracts = await openContracts({
    contracts: [one],
    drivers: [{ driver: driver() }],
    acquire: async () => upstream,
    checkUri: () => undefined,
    policy: { unattended: "allow" },
  });
  return (await runExamples(one, "files-mcp", contracts, options)).map(({ example, outcome, reason }) => [
    example,
    outcome,
    reason,
  ]);
}

const examples = [
  { name: "right", input: { path: "a" }, output: "of a" },
  { name: "any", input: { path: "a" } },
  { name: "other", input: { path: "a" }, output: "of b" },
  { name: "invalid", input: {} },
];

test("reports passed and failed examples, with the difference", async () => {
  expect(await run({ examples })).toEqual([
    ["right", "passed", undefined],
    ["any", "passed", undefined],
    ["other", "failed", 'the output is "of a", but the example has "of b"'],
    ["invalid", "failed", expect.stringContaining("input_invalid") as string],
  ]);
});

test("runs examples with side effects only if the caller requests it", async () => {
  const more = { examples: examples.slice(0, 1), mutates: ["workspace:files"], approval: "on-mutate" };
  expect(await run(more)).toEqual([["right", "skipped", "the contract changes workspace:files"]]);
  expect(await run(more, { mutating: true })).toEqual([["right", "passed", undefined]]);
});
