// What `portolan serve` and `portolan token` say about themselves.

import { expect, it } from "vitest";
import { portolan } from "./cli-helpers.ts";

it("--help and completion know both commands", async () => {
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
