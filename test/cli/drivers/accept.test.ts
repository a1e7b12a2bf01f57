// A contract with a breaking change is refused, and every output names the command that accepts it.

import { expect, it, onTestFinished } from "vitest";
import { examplePlace } from "../../helpers/drivers.ts";
import { envelope } from "../../helpers/cli.ts";

const NOTE = "tools/note-read/TOOL.md";

it("every output, also in pipes, names the command that accepts a changed contract", async () => {
  const { run, change } = examplePlace();
  expect((await run("status")).code).toBe(0);
  change(NOTE, (text) =>
    text.replace("outputs: { type: string }", "outputs: { type: string, maxLength: 1000 }"),
  );
  const command = "portolan drivers accept note-read";
  const called = await run("call", "note-read", "name=hello.md");
  expect(called.code).toBe(2);
  // The error is the last line; the diagnostics come before.
  const [last = ""] = called.err.trim().split("\n").slice(-1);
  expect(JSON.parse(last)).toMatchObject({
    error: { code: "TOOL_NOT_FOUND", hint: expect.stringContaining(command) },
  });
  const status = JSON.parse((await run("status")).out) as { drivers: { reason: string }[] };
  expect(status.drivers.map(({ reason }) => reason.includes(command))).toEqual([true, true]);
  for (const words of [
    ["status"],
    ["list"],
    ["list", "contracts"],
    ["list", "note-read"],
    ["why", "cat-mcp"],
  ])
    expect((await run(...words, "--text")).out, words.join(" ")).toContain(command);
  expect((await run("drivers", "accept", "note-read")).code).toBe(0);
  expect((await run("call", "note-read", "name=hello.md")).code).toBe(0);
});

it("while a gateway runs, errors name the command too, and the gateway then uses the contract", async () => {
  const { run, change } = examplePlace();
  onTestFinished(async () => void (await run("stop")));
  expect((await run("status")).code).toBe(0);
  change(NOTE, (text) =>
    text.replace("outputs: { type: string }", "outputs: { type: string, maxLength: 1000 }"),
  );
  expect((await run("serve", "--daemon", "--port", "0")).code).toBe(0);
  const called = await run("call", "note-read", "name=hello.md");
  expect(envelope(called).hint).toContain("portolan drivers accept note-read");
  expect(JSON.parse((await run("drivers", "accept", "note-read")).out)).toMatchObject({
    gateways: [{ pid: expect.any(Number) as number }],
  });
  expect((await run("call", "note-read", "name=hello.md")).code).toBe(0);
  // The diagnostic disappears with its reason.
  expect((await run("status", "--text")).out).not.toContain("drivers accept");
});
