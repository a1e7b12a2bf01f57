// Attempts: values from the context of a call, and the hooks for arguments and results.

import { describe, expect, test } from "vitest";
import { binding, object, TEXT, text } from "../../../test/helpers/contracts.ts";
import { invoke, make } from "../../../test/helpers/one-driver.ts";
import { PortolanError } from "../../errors/index.ts";
import type { JsonObject } from "../../model/index.ts";
import type { DriverHooks } from "../driver/bound-tool.ts";
import { libraryErrorOf } from "./failure.ts";

describe("the context of a call", () => {
  const contextSchema = object({ tenant: TEXT });
  const tools = [{ inputSchema: object({ path: TEXT, org: TEXT }) }];
  const mapping = { org: { from: "$context.tenant" } };

  test("is mapped to arguments of the tool", async () => {
    const made = await make(() => text("x"), {
      contract: { contextSchema },
      driver: { implements: [binding({ mapping })] },
      tools,
    });
    const context = { values: { tenant: "acme" } };
    expect((await invoke(made, undefined, { context })).result).toMatchObject({ ok: true });
    expect(made.calls).toEqual([{ name: "read_file", arguments: { path: "a", org: "acme" } }]);
    expect((await invoke(made)).result).toMatchObject({
      error: { code: "input_invalid", message: expect.stringContaining("tenant") as string },
    });
  });

  test("cannot be mapped if the contract has no contextSchema or no such field", async () => {
    const problems = async (schema: JsonObject | undefined, from: string) => {
      const { contracts } = await make(() => text("x"), {
        contract: schema === undefined ? {} : { contextSchema: schema },
        driver: { implements: [binding({ mapping: { org: { from } } })] },
        tools,
      });
      return contracts
        .status()[0]
        ?.problems.map(({ message }) => message)
        .join("\n");
    };
    expect(await problems(undefined, "$context.tenant")).toContain("the contract has no contextSchema");
    expect(await problems(contextSchema, "$context.tennant")).toContain(
      "contextSchema of the contract does not declare",
    );
    expect(await problems(object({ tenant: TEXT }, []), "$context.tenant")).toContain(
      '"tenant" of the context that is mapped to it is optional',
    );
    expect(await problems(object({ tenant: { type: "integer" } }), "$context.tenant")).toContain(
      "does not match the tool",
    );
  });
});

describe("an entry module whose hook returns an invalid value", () => {
  test.each([
    ["buildArguments", { buildArguments: () => 5 }],
    ["buildArguments", { buildArguments: async () => ({}) }],
    ["parseToolResult", { parseToolResult: () => undefined }],
    ["parseToolResult", { parseToolResult: () => ({ ok: false }) }],
    ["parseToolResult", { parseToolResult: async () => ({ ok: true, value: "x" }) }],
  ])("fails the call with the name of the hook: %s", async (name, hooks) => {
    const made = await make(() => text("x"), { hooks: hooks as unknown as DriverHooks });
    expect((await invoke(made)).result).toMatchObject({
      error: { code: "internal", message: expect.stringContaining(name) as string },
    });
  });
});

describe("an entry module whose hook throws", () => {
  const broken = (): never => {
    throw new TypeError("a bug");
  };
  test.each([
    ["buildArguments", { buildArguments: broken }],
    ["parseToolResult", { parseToolResult: broken }],
    ['execute["fs-read"]', { execute: { "fs-read": async () => broken() } }],
  ])("fails the call with the name and the place of the hook: %s", async (name, hooks) => {
    const { result, driver, neverRan } = await invoke(await make(() => text("x"), { hooks }));
    if (result.ok) throw new Error("the call succeeded");
    expect(result.error.message).toMatch(
      new RegExp(
        `^${name.replaceAll(/[[\]]/g, "\\$&")} in the code of the driver \\S+ failed at attempt\\.test\\.ts:\\d+: a bug$`,
      ),
    );
    expect(libraryErrorOf(result.error, neverRan === true)).toMatchObject({
      code: "CALLBACK_FAILED",
      hint: "Correct the function; the stack is in the cause of the error.",
    });
    expect(driver).toBeDefined();
  });

  test("fails with the error of Portolan that the hook throws", async () => {
    const late = new PortolanError("TIMEOUT", "the own request took too long");
    const hooks: DriverHooks = { execute: { "fs-read": async () => Promise.reject(late) } };
    expect((await invoke(await make(() => text("x"), { hooks }))).result).toMatchObject({
      error: { code: "timeout", message: "the own request took too long" },
    });
  });
});
