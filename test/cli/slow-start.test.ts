// A server that is added beside a running gateway and does not answer: the command says so, and Ctrl-C keeps the change.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { KEYS, quoted, start, terminal } from "../helpers/cli.ts";
import { needs } from "../helpers/needs.ts";
import { setUp } from "../helpers/running-gateway.ts";

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
