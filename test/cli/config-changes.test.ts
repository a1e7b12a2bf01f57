// Changes of an operator to a workspace with a gateway: lost files, servers that were put back, rules without effect, another path.

import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { stdioCommand } from "../fixtures/processes.mjs";
import { fixture, setUp } from "../helpers/background-gateway.ts";
import { portolan } from "../helpers/cli.ts";

test("reload waits for the start of a server that was put back, although its tools are known", async () => {
  const { cwd, run, save } = setUp({});
  const program = join(cwd, "server.mjs");
  const { args } = stdioCommand("--era=modern");
  const sandbox = { fs: { read: ["/"] } };
  const one = { command: process.execPath, args: [program, "--era=modern"], sandbox };
  const lazy = { ...one, start: "lazy" };
  writeFileSync(program, `await import(${JSON.stringify(args[0])});`);
  save({ servers: { one, lazy } });
  expect((await run("serve", "--daemon")).code).toBe(0);
  save({ servers: {} });
  expect((await run("reload")).code).toBe(0);

  writeFileSync(program, 'throw new Error("broken script");');
  save({ servers: { one, lazy } });
  const reloaded = await run("reload", "--text");
  expect(reloaded.code).toBe(3);
  expect(reloaded.out).toMatch(/^one failed.*broken script/m);
  // A lazy server starts with its first call.
  expect(reloaded.out).toMatch(/^lazy idle/m);
});

test("a gateway keeps its config if portolan.yaml is emptied or deleted, until the file has content", async () => {
  const { cwd, run, save } = setUp({ servers: { one: fixture() } });
  expect((await run("serve", "--daemon")).code).toBe(0);
  const file = join(cwd, "portolan.yaml");
  writeFileSync(file, "");
  const emptied = await run("reload", "--text");
  expect(emptied.code).toBe(2);
  expect(emptied.err + emptied.out).toContain(
    "portolan.yaml: the file is empty, so Portolan keeps using its last valid content. Restore the file. To remove all servers and settings, write servers: {} into the file. To stop the gateway: portolan stop.",
  );
  rmSync(file);
  const deleted = await run("reload", "--text");
  expect(deleted.code).toBe(2);
  expect(deleted.err + deleted.out).toContain("the file does not exist any more");
  const status = await run("status", "--text");
  expect(status.code).toBe(2);
  expect(status.out).toMatch(/^one +ready/m);
  expect(status.out).toContain("the file does not exist any more");
  expect(status.out).not.toContain("There are no servers");
  save({ servers: {} });
  expect(await run("reload", "--text")).toMatchObject({
    ...{ code: 0, out: expect.stringContaining("Servers removed: one") as string },
  });
});

test("serve --daemon prints warnings about rules that protect nothing, also after a removal", async () => {
  const approval = [{ tools: ["two.ech0", "on.echo"] }];
  const { run } = setUp({ servers: { one: fixture(), two: fixture() }, gateway: { port: 0, approval } });
  const started = await run("serve", "--daemon", "--text");
  expect(started).toMatchObject({ code: 0, out: expect.stringMatching(/one +ready/) as string });
  expect(started.err).toMatch(
    /portolan\.yaml:1:\d+ warning the pattern "on\.echo" matches no tool: .*No call waits for approval because of this pattern/,
  );
  expect(started.err).toContain('gateway.approval[0] names the tool "two.ech0", but the server two has no');
  expect(await run("remove", "two")).toMatchObject({ code: 0 });
  await run("stop");
  const again = await run("serve", "--daemon");
  expect(again).toMatchObject({
    ...{ code: 0, err: expect.stringContaining('"two.ech0" matches no tool') as string },
  });
});

test("verify names the audit log of a workspace that is now at another path", async () => {
  const { top, cwd, env, run } = setUp({ servers: { one: fixture() }, audit: true });
  await run("serve", "--daemon");
  await run("call", "one.echo", "text=x");
  await run("stop");
  const { folder } = JSON.parse((await run("audit", "calls", "--json")).out) as { folder: string };
  mkdirSync(join(dirname(folder), "without-a-log"));
  const moved = join(top, "elsewhere");
  cpSync(cwd, moved, { recursive: true });
  const verified = await portolan(["audit", "calls", "--verify", "--text"], { cwd: moved, env });
  expect(verified.code).toBe(1);
  const text = verified.out.replaceAll(/\s+/g, " ");
  expect(text).toContain("contains no log to verify.");
  expect(text).toContain(`hint These folders beside it contain audit logs: ~${folder.slice(top.length)}. If`);
});
