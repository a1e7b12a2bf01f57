// Drivers that cannot serve, the servers that a command waits for, and options that select the driver of a call.

import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openWorkspace } from "../../../src/hub/index.ts";
import { envelope } from "../../helpers/cli.ts";
import { secretsFile, smallPlace, type SmallPlace } from "../../helpers/small-drivers.ts";

const KEY = { env: { API_KEY: "${secrets.API_KEY}" } };

/** A workspace with one working driver, and another that cannot serve. */
function withOther(lines: string, server: Record<string, unknown> = {}): SmallPlace {
  const here = smallPlace();
  here.driver("good-mcp");
  here.driver("other-mcp", lines, server);
  return here;
}

describe("a driver that cannot serve", () => {
  it.each<[string, () => SmallPlace, string]>([
    ["on another system", () => withOther("requires: { os: [aix] }"), "aix"],
    [
      "with a failing health check",
      () => withOther('health_check: { method: exec, cmd: "false" }'),
      "its health check failed: false exited with code 1",
    ],
    [
      "without an entry for its secret",
      () => withOther("", KEY),
      "no SECRETS.md has a valid entry for API_KEY",
    ],
    [
      "with a secret for others",
      () => {
        const here = withOther("", KEY);
        here.write(".secrets/SECRETS.md", secretsFile("t9"));
        return here;
      },
      "only tool:t9 may bind api-key",
    ],
    [
      "with a secret that has no value",
      () => {
        const here = withOther("", KEY);
        here.write(".secrets/SECRETS.md", secretsFile("t1"));
        return here;
      },
      "A secret is missing: API_KEY (for Key)",
    ],
  ])("%s: why and status show this reason", async (_, make, reason) => {
    const here = make();
    const why = await here.run("why", "other-mcp", "--text");
    expect(why.code).toBe(3);
    expect(why.out.replaceAll(/\s+/g, " ")).toContain(reason);
    expect(why.out).not.toContain("it works");
    const status = await here.run("status", "--text");
    expect(status.code).toBe(3);
    expect(status.out).toContain("1 of 2 drivers cannot serve calls. See why: portolan why other-mcp");
    expect(status.out).not.toContain("is up");
    expect((await here.run("why", "good-mcp", "--text")).out).toContain(
      "No action needed: the driver works.",
    );
  });

  it("because of its health check: the hint is about the health check, not about other warnings", async () => {
    const here = withOther('health_check: { method: exec, cmd: "false" }');
    expect((await here.run("why", "other-mcp", "--text")).out).toContain(
      "Find out why its health check fails",
    );
  });

  it("because of a missing login: why and status show how to log in, and exit with 5", async () => {
    const here = withOther('auth: { login: { cmd: "true", interactive: false } }');
    const why = await here.run("why", "other-mcp", "--text");
    expect(why.code).toBe(5);
    expect(why.out).toContain("Log in: portolan login other-mcp");
    expect(why.out).not.toContain("it works");
    const status = await here.run("status", "--text");
    expect(status.code).toBe(5);
    expect(status.out).toContain("not logged in");
    expect(status.out).toContain("1 of 2 drivers cannot serve calls. Log in: portolan login other-mcp");
    expect((await here.run("login", "other-mcp")).code).toBe(0);
    expect((await here.run("status")).code).toBe(0);
    expect((await here.run("why", "other-mcp")).code).toBe(0);
  });

  it("because its contract is missing: status shows it as refused, without an empty reason", async () => {
    const here = withOther("");
    here.change(".drivers/other-mcp/DRIVER.md", (text) => text.replace("tools/t1/", "tools/t9/"));
    const status = await here.run("status", "--text");
    expect(status.out).toMatch(/other-mcp@1\.0\.0 {2}refused$/m);
  });
});

describe("secrets check", () => {
  it("shows the secrets of drivers, and whether each is set and granted", async () => {
    const here = withOther("", KEY);
    here.write(".secrets/SECRETS.md", secretsFile("t1"));
    const need = {
      name: "API_KEY",
      neededBy: [{ server: "other-mcp", where: "env.API_KEY" }],
      grants: [{ driver: "other-mcp", contract: "t1", granted: true }],
    };
    const without = await here.run("secrets", "check");
    expect(without.code).toBe(1);
    expect(JSON.parse(without.out)).toMatchObject({ ok: false, needs: [{ ...need, state: "missing" }] });
    const env = { API_KEY: "x" };
    const withValue = smallPlace({ ".secrets/SECRETS.md": secretsFile("t1") }, env);
    withValue.driver("other-mcp", "", KEY);
    expect(JSON.parse((await withValue.run("secrets", "check")).out)).toMatchObject({
      ok: true,
      needs: [{ ...need, state: "set", source: "environment" }],
    });
    withValue.write(".secrets/SECRETS.md", secretsFile("t9"));
    const denied = await withValue.run("secrets", "check", "--text");
    expect(denied.code).toBe(1);
    expect(denied.out.replaceAll(/\s+/g, " ")).toContain(
      "needed by other-mcp (env.API_KEY); not granted to other-mcp for t1: only tool:t9 may bind api-key",
    );
  });
});

it("starts only the servers that are named", { timeout: 30_000 }, async () => {
  const here = smallPlace();
  here.contract("t1", "examples: [{ name: any, input: {} }]");
  here.contract("t2");
  here.driver("good-mcp");
  here.driver("slow-mcp", "", { args: [`${here.cwd}/server.mjs`, "hang"] });
  here.change(".drivers/slow-mcp/DRIVER.md", (text) => text.replace("tools/t1/", "tools/t2/"));
  const begun = performance.now();
  expect((await here.run("why", "good-mcp")).code).toBe(0);
  expect((await here.run("test", "good-mcp")).code).toBe(0);
  expect((await here.run("resolve", "t1")).code).toBe(0);
  // A server that never answers would take a minute each time.
  expect(performance.now() - begun).toBeLessThan(25_000);
});

describe("a call that needs approval, without a terminal", () => {
  const MUTATES = 'mutates: ["workspace:files"]\napproval: on-mutate';

  it.each([[[]], [["--no-input"]]])("runs if the policy allows it: %j", async (flags) => {
    const here = smallPlace({ "portolan.yaml": "version: 1\ncontracts: { unattended: allow }\n" });
    here.contract("t1", MUTATES);
    here.driver("good-mcp");
    expect(await here.run("call", "t1", ...flags)).toMatchObject({ code: 0, err: "" });
  });

  it("is refused without such a policy; the error does not say that a person declined", async () => {
    const here = smallPlace();
    here.contract("t1", MUTATES);
    here.driver("good-mcp");
    const ran = await here.run("call", "t1");
    expect(ran.code).toBe(1);
    expect(ran.out).toContain("nobody here can approve it");
    expect(ran.err).not.toContain("asked");
  });
});

describe("a call of a contract", () => {
  const DRIVER = "portolan/driver";

  it("can be pinned to a driver, or limited to a region", async () => {
    const here = smallPlace();
    here.driver("a-mcp", "region: [eu-west-1]");
    here.driver("b-mcp", "region: [us-east-1]");
    const servedBy = async (...flags: string[]): Promise<unknown> =>
      (JSON.parse((await here.run("call", "t1", ...flags)).out) as { _meta: Record<string, unknown> })._meta[
        DRIVER
      ];
    expect(JSON.stringify(await servedBy())).toContain("a-mcp");
    expect(JSON.stringify(await servedBy("--pin", "b-mcp"))).toContain("b-mcp");
    expect(JSON.stringify(await servedBy("--region", "us-east-1"))).toContain("b-mcp");
    const nobody = await here.run("call", "t1", "--pin", "b-mcp", "--region", "eu-west-1");
    expect(nobody.code).toBe(3);
  });

  it("can be pinned, but calls of other tools cannot", async () => {
    const here = smallPlace();
    here.write("portolan.yaml", `version: 1\nservers: { x: { command: node, args: [server.mjs] } }\n`);
    const ran = await here.run("call", "x.whoami", "--pin", "b-mcp");
    expect(ran.code).toBe(2);
    expect(envelope(ran).message).toBe(
      "--pin is only for calls of contracts, and this call does not name a contract.",
    );
  });
});

it("prompt finds a prompt that is part of a skill by its name", async () => {
  const here = smallPlace();
  const skill = "./skills/summarize/SKILL.md";
  here.write(skill, "---\nname: summarize\ndescription: Sums things up.\n---\n");
  here.driver("good-mcp", `prompts: [{ name: sum, integrate_as: skill_block, skill_ref: ${skill} }]`);
  for (const words of [["contracts", "summarize/sum"], ["contracts.summarize/sum"]]) {
    const ran = await here.run("prompt", ...words, "doc=x", "--text");
    expect(ran).toMatchObject({ code: 0, out: expect.stringContaining("sum up x") });
  }
  const workspace = await openWorkspace(here.cwd, { watchFiles: false, snapshots: false });
  onTestFinished(() => workspace.close());
  expect((await workspace.contracts())?.status()).toMatchObject([{ id: "good-mcp" }]);
  // The prompts of a driver are known once its server was verified.
  const filled = await vi.waitFor(() => workspace.getPrompt("contracts.summarize/sum", { doc: "y" }), {
    timeout: 10_000,
  });
  expect(JSON.stringify(filled)).toContain("sum up y");
});
