// The answer of `portolan serve --stdio` to a client if its gateway cannot start.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { start, temporaryFolder } from "../helpers/cli.ts";

interface Answer {
  readonly id: number;
  readonly error: { readonly message: string; readonly data: object };
}

it("a folder that cannot be written is an error with the setting for another folder", async () => {
  const top = temporaryFolder();
  const file = join(top, "file");
  writeFileSync(file, "");
  writeFileSync(
    join(top, "portolan.yaml"),
    "servers: { a: { command: no-such-program } }\ngateway: { port: 0, auth: none }\n",
  );
  const ways: readonly [setting: string, words: readonly string[], env: Record<string, string>][] = [
    ["XDG_STATE_HOME", [], { XDG_STATE_HOME: join(file, "state") }],
    ["--log-file", ["--log-file", join(file, "x.log")], {}],
    ["XDG_DATA_HOME", [], { XDG_DATA_HOME: join(file, "data") }],
  ];
  for (const [setting, words, more] of ways) {
    const env = { HOME: top, XDG_STATE_HOME: join(top, "state"), XDG_RUNTIME_DIR: top, ...more };
    const { code, err } = await start(["serve", "--daemon", "--text", ...words], { cwd: top, env }).done;
    expect(code, err).toBe(2);
    expect(err).toMatch(new RegExp(`the folder ${file}\\S* cannot be written: .*${setting}`, "s"));
    expect(err).not.toContain("bug in Portolan");
  }
});

it("a stdio client gets every error of the config files, in each protocol era", async () => {
  const cwd = temporaryFolder();
  writeFileSync(
    join(cwd, "portolan.yaml"),
    "servers:\n  a: { comand: node }\n  b: { command: node, agrs: [] }\n",
  );
  const requests = ["server/discover", "initialize"].map((method, id) => ({ jsonrpc: "2.0", id, method }));
  const stdin = requests.map((request) => `${JSON.stringify(request)}\n`).join("");
  const { code, out, err } = await start(["serve", "--stdio"], { cwd, stdin }).done;
  const answers = out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Answer);
  expect(answers.map(({ id }) => id)).toEqual([0, 1]);
  for (const { error } of answers) {
    expect(error.data).toMatchObject({ code: "FILE_INVALID" });
    expect(error.message).toMatch(
      // The working folder of the client's command does not help the reader.
      /^Portolan cannot start\. .*- [~/][^ ]*\/portolan\.yaml:2:8 .*"comand".* Did you mean "command"\?.*portolan\.yaml:3:23 .*"agrs".*portolan validate$/s,
    );
  }
  expect(code).toBe(2);
  expect(err).toContain("[FILE_INVALID]");
});
