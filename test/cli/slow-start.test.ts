// Servers that do not start: `add` beside a running gateway shows the state, and `serve --daemon` the errors in one column.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { KEYS, portolan, quoted, start, terminal } from "../helpers/cli.ts";
import { needs } from "../helpers/needs.ts";
import { setUp, yaml } from "../helpers/running-gateway.ts";

const HANG = 'console.error("loading models"); process.stdin.resume(); setInterval(() => {}, 1000);';
const ADD = ["add", "hang", "--", process.execPath, "-e", HANG];

test("add shows the state of the server, and Ctrl-C keeps the change", needs("a terminal"), async () => {
  const { cwd, env, serve } = setUp();
  const gateway = await serve();
  const added = terminal(`cd ${quoted([cwd])}; portolan ${quoted(ADD)}`, 100, env);
  await added.shows("waiting for the running gateway to apply the change");
  await added.shows("Ctrl-C ends the waiting, and the change stays.");
  await added.shows("hang has not answered yet; its last line: loading models");
  added.press(KEYS.ctrlC);
  const { code, screen } = await added.done;
  expect(code).toBe(130);
  expect(screen).toContain("continues to apply the change");
  expect(screen).toContain("portolan status hang");
  expect(readFileSync(join(cwd, "portolan.yaml"), "utf8")).toContain("hang");
  gateway.child.kill("SIGTERM");
  await gateway.done;
});

test("without a terminal, add prints the state once", async () => {
  const { cwd, env, serve } = setUp();
  const gateway = await serve();
  const added = start([...ADD.slice(0, 1), "--text", ...ADD.slice(1)], { cwd, env });
  await expect.poll(added.err, { timeout: 20_000 }).toContain("hang has not answered yet");
  added.child.kill("SIGINT");
  const { code, err } = await added.done;
  expect(code).toBe(130);
  expect(err.split("has not answered yet")).toHaveLength(2);
  gateway.child.kill("SIGTERM");
  await gateway.done;
});

test(
  "serve --daemon wraps the error of a server, and prints its hint on a line of its own",
  needs("a terminal"),
  async () => {
    const source = `console.error("Error: ${"reason ".repeat(16)}"); process.exit(1);`;
    const { cwd, env } = setUp(
      yaml({
        bad: { command: process.execPath, args: ["-e", source] },
        gone: { command: "no-such-program-x" },
      }),
    );
    onTestFinished(async () => void (await portolan(["stop"], { cwd, env })));
    const { screen } = await terminal(`cd ${quoted([cwd])}; portolan serve --daemon`, 90, env).done;
    const column = " ".repeat(16);
    const lines = screen.split(/\r*\n/);
    expect(screen).toMatch(
      new RegExp(`  bad   failed  bad exited with code 1: Error: reason .*\\r*\n${column}reason`),
    );
    expect(lines.filter((line) => line.startsWith(`${column}hint `)).length).toBeGreaterThan(0);
    for (const line of lines.filter((one) => one.startsWith(column)))
      expect(line.length).toBeLessThanOrEqual(90);
  },
);
