// Two major versions of one contract: each has a name, and a driver serves the one that it is bound to.

import { expect, onTestFinished, test } from "vitest";
import {
  binding,
  contract,
  driver,
  object,
  serve,
  TEXT,
  text,
  tool,
} from "../../../test/helpers/contracts.ts";
import type { Driver } from "../../model/index.ts";
import { openContracts, type Contracts } from "../contracts-upstream.ts";

const OLD = contract({ version: "1.4.0" });
const NEW = contract({ version: "2.0.0", inputs: object({ file: TEXT }) });
const one = driver({ id: "one-mcp", implements: [binding({ range: "^1.0.0" })] });
const two = driver({
  id: "two-mcp",
  implements: [binding({ tool: "fs-read@2", range: ">=1", argumentMapping: { file: "path" } })],
});

async function open(...drivers: Driver[]): Promise<Contracts> {
  const { upstream } = await serve({ tools: [tool()], call: () => text("x") });
  const contracts = await openContracts({
    contracts: [OLD, NEW],
    drivers: drivers.map((each) => ({ driver: each })),
    acquire: async () => upstream,
    checkUri: () => undefined,
  });
  onTestFinished(() => contracts.close());
  return contracts;
}

test("id@major calls this major version, and the id alone calls the newest", async () => {
  const contracts = await open(one, two);
  const call = async (name: string, input: object): Promise<unknown> => {
    const { result, driver: by } = await contracts.call({ tool: name, input: { ...input } });
    return result.ok ? by : result.error.code;
  };
  expect(await call("fs-read@1", { path: "a" })).toBe("one-mcp");
  expect(await call("fs-read@2", { file: "a" })).toBe("two-mcp");
  expect(await call("fs-read", { file: "a" })).toBe("two-mcp");
  expect(await call("fs-read@1", { file: "a" })).toBe("input_invalid");
  expect(await call("fs-read@3", { file: "a" })).toBe("not_found");
});

test("a driver with a range over both majors serves only the newest one that it matches", async () => {
  const both = driver({ ...two, implements: two.implements.map((each) => ({ ...each, tool: "fs-read" })) });
  const contracts = await open(both);
  expect(contracts.explain("fs-read@2")).toMatchObject({ selected: "two-mcp" });
  expect(contracts.explain("fs-read@1")?.phases[0]).toMatchObject({
    rejected: [
      { driver: "two-mcp", reason: "it serves the version 2.0.0, but the contract has the version 1.4.0" },
    ],
  });
});
