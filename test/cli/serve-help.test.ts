// Help and shell completion of `portolan serve` and `portolan token`.

import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { portolan } from "../helpers/cli.ts";
import { needs } from "../helpers/needs.ts";

it("--help and completion know serve and token", async () => {
  const run = (...words: string[]) => portolan(words);
  const { code, out } = await run("serve", "--help");
  expect(code).toBe(0);
  for (const word of ["--stdio", "--new-token", "/servers/<name>/mcp", "Examples:", "Exit codes:"])
    expect(out).toContain(word);
  expect((await run("token", "--help")).out).toContain("$(portolan token)");
  for (const shell of ["bash", "zsh", "fish"]) {
    const script = (await run("completion", shell)).out;
    expect(script).toMatch(/\bserve\b/);
    expect(script).toContain("allow-origin");
  }
});

it("bash can parse the completion script", needs("bash"), async () => {
  const completion = await portolan(["completion", "bash"]);
  expect(spawnSync("bash", ["-n"], { input: completion.out }).status).toBe(0);
});
