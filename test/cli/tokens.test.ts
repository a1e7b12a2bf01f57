// `portolan tokens`, and budgets in `portolan status` and `portolan call`, as users run them: alone and beside a gateway.

import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { stdioCommand } from "../fixtures/processes.mjs";
import { fixture, portolan, type Ran, start, temporaryFolder } from "../helpers/cli.ts";
import { until } from "../helpers/connect.ts";

interface Report {
  readonly encoding: string;
  readonly gateway?: { readonly pid: number };
  readonly tokens: number;
  readonly servers: readonly { readonly server: string; readonly tools: number; readonly tokens: number }[];
  readonly tools: readonly { readonly name: string; readonly tokens: number }[];
  readonly savings: readonly { readonly kind: string; readonly yaml?: string }[];
}

function setUp(more: object = {}) {
  const top = temporaryFolder();
  const cwd = join(top, "project");
  mkdirSync(cwd);
  const { command, args } = stdioCommand();
  const servers = { one: { command, args }, two: { command, args } };
  writeFileSync(join(cwd, "portolan.yaml"), JSON.stringify({ version: 1, servers, ...more }));
  const env = {
    HOME: top,
    XDG_CACHE_HOME: join(top, "cache"),
    XDG_CONFIG_HOME: join(top, "config"),
    XDG_DATA_HOME: join(top, "data"),
    XDG_STATE_HOME: join(top, "state"),
    XDG_RUNTIME_DIR: top,
  };
  const run = (...words: string[]): Promise<Ran> => portolan(words, { cwd, env });
  return {
    cwd,
    env,
    run,
    json: async <T>(...words: string[]): Promise<T> => JSON.parse((await run(...words)).out) as T,
  };
}

it("counts the tokens of a workspace, of one server, and of any target", async () => {
  const { run, json } = setUp();
  const all = await json<Report>("tokens", "--json");
  expect(all.encoding).toBe("o200k_base");
  expect(all.servers.map(({ server }) => server).toSorted()).toEqual(["one", "two"]);
  expect(all.tokens).toBe(all.tools.reduce((sum, { tokens }) => sum + tokens, 0));
  // Both servers are the same program.
  expect(all.savings.some(({ kind }) => kind === "duplicate")).toBe(true);
  const one = await json<Report>("tokens", "one", "--json");
  expect(one.tools).toHaveLength(all.tools.length / 2);
  const { code, out } = await run("tokens", "one", "--text");
  expect(code).toBe(0);
  expect(out).toContain("tokens (o200k_base)");
  expect(out).toMatch(/^ {2}echo +\d+ +\d+\.\d %$/m);
  const direct = await portolan(["tokens", fixture(), "--json"]);
  expect((JSON.parse(direct.out) as Report).tokens).toBe(one.tokens);
});

it("works while a gateway runs, whose budgets count commands and are shown in status", async () => {
  const { cwd, env, run, json } = setUp({
    audit: true,
    gateway: { port: 0, budgets: { few: { callers: ["local"], tools: ["one.echo"], calls: "21/h" } } },
  });
  const serving = start(["serve"], { cwd, env });
  // Other commands find the gateway by its state file.
  const running = join(env.XDG_DATA_HOME, "portolan", "running");
  await until(
    () =>
      existsSync(running) &&
      readdirSync(running, { recursive: true, encoding: "utf8" }).some((name) => name.endsWith(".json")),
  );
  const call = (): Promise<Ran> => run("call", "one.echo", "text=hi", "--text");
  for (let calls = 0; calls < 21; calls += 1) expect((await call()).code).toBe(0);
  const refused = await call();
  expect(refused.code).not.toBe(0);
  expect(`${refused.out}${refused.err}`).toContain(
    'the budget "few" is used up. 21 of 21 calls in 1 hour are used.',
  );
  const status = await run("status", "--text");
  expect(status.out).toMatch(/few, caller local +21 of 21 calls used; the period ends at/);
  const { gateway } = await json<{ gateway: { budgets: unknown[] } }>("status", "--json");
  expect(gateway.budgets).toMatchObject([{ budget: "few", caller: "local", used: 21, amount: 21 }]);
  expect(serving.err()).toContain("budget exceeded few");
  const report = await json<Report>("tokens", "--json");
  expect(report.gateway?.pid).toBe(serving.child.pid);
  // The audit log has 22 calls, all of one tool.
  const unused = report.savings.filter(({ kind }) => kind === "unused");
  expect(unused.map(({ yaml }) => yaml).join("\n")).toMatch(/two:\n {4}enabled: false/);
  expect(unused.map(({ yaml }) => yaml).join("\n")).toMatch(/one:\n {4}tool_blocklist: \[(?!.*"echo")/);
  serving.child.kill("SIGTERM");
  await serving.done;
});
