// Version steps that changes need; a breaking change under the same major version is refused.

import { describe, expect, test } from "vitest";
import { binding, contract, driver, object, TEXT } from "../../../test/helpers/contracts.ts";
import type { Contract, Driver } from "../../model/index.ts";
import { checkBump } from "./check-version.ts";
import { diffContracts } from "./diff-contracts.ts";
import { diffDrivers } from "./diff-drivers.ts";
import type { Step } from "./changes.ts";

const npm = (name: string): Partial<Driver> => ({
  server: { kind: "npm", package: name, args: [], env: {} },
});
const binary = (path: string): Partial<Driver> => ({
  server: { kind: "binary", path, args: [], env: {} },
  endpoint: { transport: "stdio", command: "/workspace/server" },
});
const docker = (image: string): Partial<Driver> => ({ server: { kind: "docker", image, args: [], env: {} } });
const check = (range: string): Partial<Driver> => ({
  launch: { versionCheck: { command: "x", parse: "v(.*)", range } },
});

describe("the version step for a changed driver (D26)", () => {
  test.each<[string, Partial<Driver>, Partial<Driver>, Step]>([
    ["no change", {}, {}, "none"],
    [
      "another position in its file",
      {},
      { origin: { file: "other", line: 9, column: 9, format: "driver" } },
      "none",
    ],
    ["its id", {}, { id: "other" }, "major"],
    ["its transport", {}, { transport: "http" }, "major"],
    ["its protocol", { protocolVersion: "2025-06-18" }, { protocolVersion: "2025-11-25" }, "major"],
    ["a dropped input", {}, { implements: [binding({ dropInputs: ["x"] })] }, "major"],
    ["a dropped output", {}, { implements: [binding({ dropOutputs: ["x"] })] }, "major"],
    ["one contract fewer", { implements: [binding(), binding({ tool: "b" })] }, {}, "major"],
    ["one contract more", {}, { implements: [binding(), binding({ tool: "b" })] }, "minor"],
    ["the versions it serves", {}, { implements: [binding({ range: "^1.1.0" })] }, "minor"],
    ["one major version of a contract fewer", {}, { implements: [binding({ range: "^2.0.0" })] }, "major"],
    [
      "one major version of a contract more",
      {},
      { implements: [binding({ range: ">=1.0.0 <3.0.0" })] },
      "minor",
    ],
    ["every version of a contract", {}, { implements: [binding({ range: "*" })] }, "minor"],
    ["how a contract is named", {}, { implements: [binding({ tool: "./tools/fs-read/TOOL.md" })] }, "none"],
    ["how it serves one", {}, { implements: [binding({ resultExtract: "$.a" })] }, "patch"],
    ["another package", npm("a@1.0.0"), npm("b@1.0.0"), "major"],
    ["another major of the package", npm("@x/a@1.0.0"), npm("@x/a@2.0.0"), "major"],
    ["another minor of the package", npm("@x/a@1.0.0"), npm("@x/a@1.4.0"), "patch"],
    ["a package that had no version", npm("@x/a"), npm("@x/a@1.4.0"), "major"],
    ["another tag of the image", docker("host:5000/a:1.2"), docker("host:5000/a:1.3"), "patch"],
    ["another major tag of the image", docker("a:1.2"), docker("a:2"), "major"],
    ["another kind of server", npm("a"), docker("a"), "major"],
    ["its arguments", npm("a"), { server: { kind: "npm", package: "a", args: ["--x"], env: {} } }, "minor"],
    ["its login", {}, { auth: { ref: "./SECRETS.md" } }, "minor"],
    ["its sandbox", {}, { launch: { sandbox: { network: ["example.com"] } } }, "minor"],
    ["a new major of the program", check("^1.0.0"), check("^1.0.0 || ^2.0.0"), "major"],
    ["a newer version of the program", check("^1.0.0"), check("^1.4.0"), "patch"],
    ["one resource fewer", { resources: [{ uriTemplate: "a:{b}", integrateAs: "raw" }] }, {}, "major"],
    ["one prompt more", {}, { prompts: [{ name: "p", integrateAs: "raw" }] }, "minor"],
    ["one program, written in another way", binary("../../server"), binary("./server"), "none"],
    ["its description", {}, { description: "Other." }, "patch"],
  ])("is correct for: %s", (_, before, after, needs) => {
    expect(diffDrivers(driver(before), driver(after)).needs).toBe(needs);
  });
});

describe("the version step for a changed contract", () => {
  const closed = (schema: object): object => ({ ...schema, additionalProperties: false });
  test.each<[string, Partial<Contract>, Partial<Contract>, Step]>([
    ["no change", {}, {}, "none"],
    ["a new required input", {}, { inputs: object({ path: TEXT, tail: TEXT }) }, "major"],
    ["a new optional input", {}, { inputs: object({ path: TEXT, tail: TEXT }, ["path"]) }, "minor"],
    ["an input of another type", {}, { inputs: object({ path: { type: "integer" } }) }, "major"],
    [
      "fewer values",
      { inputs: object({ path: { enum: ["a", "b"] } }) },
      { inputs: object({ path: { enum: ["a"] } }) },
      "major",
    ],
    [
      "more values",
      { inputs: object({ path: { enum: ["a"] } }) },
      { inputs: object({ path: { enum: ["a", "b"] } }) },
      "minor",
    ],
    ["only some values", {}, { inputs: object({ path: { ...TEXT, enum: ["a"] } }) }, "major"],
    ["a pattern", {}, { inputs: object({ path: { ...TEXT, pattern: "^/" } }) }, "major"],
    ["a length", {}, { inputs: object({ path: { ...TEXT, maxLength: 9 } }) }, "major"],
    [
      "a greater length",
      { inputs: object({ path: { ...TEXT, maxLength: 9 } }) },
      { inputs: object({ path: { ...TEXT, maxLength: 10 } }) },
      "minor",
    ],
    ["at least nothing", {}, { inputs: object({ path: { ...TEXT, minLength: 0 } }) }, "minor"],
    [
      "a narrower part behind a reference",
      { inputs: { ...object({ path: { $ref: "#/$defs/p" } }), $defs: { p: TEXT } } },
      { inputs: { ...object({ path: { $ref: "#/$defs/p" } }), $defs: { p: { ...TEXT, maxLength: 1 } } } },
      "major",
    ],
    [
      "one optional input fewer",
      { inputs: object({ path: TEXT, tail: TEXT }, ["path"]) },
      { inputs: object({ path: TEXT }) },
      "major",
    ],
    [
      "an output that may be missing",
      { outputs: object({ a: TEXT }) },
      { outputs: object({ a: TEXT }, []) },
      "major",
    ],
    [
      "one output fewer",
      { outputs: object({ a: TEXT, b: TEXT }) },
      { outputs: object({ a: TEXT }) },
      "major",
    ],
    [
      "fewer values of an output",
      { outputs: object({ a: TEXT }) },
      { outputs: object({ a: { ...TEXT, enum: ["x"] } }) },
      "major",
    ],
    ["one input fewer", {}, { inputs: closed(object({})) as never }, "major"],
    ["a narrower output", { outputs: { type: ["string", "null"] } }, {}, "major"],
    ["another output", {}, { outputs: { type: "number" } }, "major"],
    [
      "a new output",
      { outputs: object({ a: TEXT }) },
      { outputs: object({ a: TEXT, b: TEXT }, ["a"]) },
      "minor",
    ],
    ["words of a schema", {}, { inputs: object({ path: { ...TEXT, description: "Where." } }) }, "patch"],
    ["no longer idempotent", { idempotent: true }, {}, "major"],
    ["now idempotent", {}, { idempotent: true }, "minor"],
    ["more changes", {}, { mutates: ["workspace:files"] }, "major"],
    ["approval", {}, { approval: "always" }, "minor"],
    ["its name", {}, { name: "Other" }, "patch"],
  ])("is correct for: %s", (_, before, after, needs) => {
    expect(diffContracts(contract(before), contract(after)).needs).toBe(needs);
  });
});

describe("checkBump", () => {
  const bump = (from: string, to: string, more: Partial<Driver>) =>
    checkBump(driver({ version: from }), driver({ version: to, ...more }));
  const breaking: Partial<Driver> = { transport: "http" };
  const growing: Partial<Driver> = { region: ["eu"] };
  test.each<[string, string, Partial<Driver>, string | undefined]>([
    ["1.0.0", "1.1.0", breaking, "2.0.0"],
    ["1.0.0", "2.0.0", breaking, undefined],
    ["0.3.0", "0.3.1", breaking, "0.4.0"],
    ["0.3.0", "0.4.0", breaking, undefined],
    ["1.0.0", "1.0.1", growing, "1.1.0"],
    ["1.0.0", "1.1.0", growing, undefined],
    ["1.0.0", "1.0.0", { description: "Other." }, "1.0.1"],
    ["1.0.0", "1.0.0", {}, undefined],
    ["2.0.0", "1.0.0", breaking, undefined],
  ])("reports a version step that is too small, and no other: %s to %s", (from, to, more, raised) => {
    const found = bump(from, to, more);
    if (raised === undefined) return expect(found).toEqual([]);
    expect(found).toMatchObject([
      { severity: more === breaking ? "error" : "warning", hint: expect.stringContaining(raised) as string },
    ]);
  });

  test("names the changes that require a higher version", () => {
    expect(bump("1.0.0", "1.0.1", breaking)[0]?.message).toBe(
      "files-mcp 1.0.1: the version is too low for the changes since 1.0.0: transport (the connection to the server is different)",
    );
    expect(
      checkBump(contract(), contract({ inputs: object({ path: TEXT, tail: TEXT }) }))[0]?.message,
    ).toContain('the field "tail" is required');
  });
});
