// The context of contract calls on the command line, and a test run without examples.

import { expect, test } from "vitest";
import { envelope } from "../../helpers/cli.ts";
import { smallPlace, type SmallPlace } from "../../helpers/small-drivers.ts";

/** A server that returns its arguments, and a contract whose context becomes one of them. */
function tenants(): SmallPlace {
  const here = smallPlace();
  here.change("server.mjs", (text) =>
    text
      .replace("properties: {} } };", 'properties: { tenant: { type: "string" } }, required: ["tenant"] } };')
      .replace(
        "() => ({ content: [text(JSON.stringify({ key:",
        "(params) => ({ content: [text(JSON.stringify({ ...params.arguments, key:",
      ),
  );
  here.contract(
    "t1",
    `metadata: { contextSchema: { type: object, properties: { tenant: { type: string }, level: { type: integer } }, required: [tenant] } }
examples: [{ name: own, input: {}, output: { tenant: acme, key: "" } }]`,
  );
  here.driver("a-mcp");
  here.change(".drivers/a-mcp/DRIVER.md", (text) =>
    text.replace("    metadata:", "    mapping: { tenant: { from: $context.tenant } }\n    metadata:"),
  );
  return here;
}

test("--context sets the values of the contract's contextSchema", async () => {
  const here = tenants();
  const [called, tested, without, wrong] = await Promise.all([
    here.run("call", "t1", "--context", "tenant=acme", "--context", "level=2", "--json"),
    here.run("test", "a-mcp", "--context", "tenant=acme", "--json"),
    here.run("call", "t1"),
    here.run("call", "t1", "--context", "tenant=acme", "--context", "level=high"),
  ]);
  expect(called.code).toBe(0);
  expect(JSON.parse(called.out)).toMatchObject({ structuredContent: { tenant: "acme", key: "" } });
  expect(tested).toMatchObject({ code: 0, err: "" });
  expect(without.code).toBe(2);
  expect(wrong.code).toBe(2);
  expect(envelope(wrong)).toMatchObject({ code: "INPUT_INVALID", message: expect.stringContaining("level") });
});

test("a contract without a contextSchema takes no context, and a test run without examples fails", async () => {
  const here = smallPlace();
  here.driver("a-mcp");
  const [called, json, text] = await Promise.all([
    here.run("call", "t1", "--context", "tenant=acme"),
    here.run("test", "a-mcp", "--json"),
    here.run("test", "a-mcp", "--text"),
  ]);
  expect(envelope(called)).toMatchObject({ code: "USAGE", message: "The contract t1 takes no context." });
  expect(json.code).toBe(1);
  expect(JSON.parse(json.out)).toMatchObject({ passed: false, examples: [] });
  expect(json.err).toContain("None of the contracts of this driver has examples");
  expect(text.code).toBe(1);
  expect(text.out).toContain("None of the contracts of this driver has examples");
});
