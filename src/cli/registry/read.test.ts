// Files that cannot be read: the file of `portolan advisories --publish`, and portolan.yaml.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Cli } from "../context.ts";
import { advisories } from "./read.ts";
import { readPackageSettings } from "./settings.ts";

test("a missing file is an error about the file, not a bug of Portolan", async () => {
  const cli = { io: { cwd: tmpdir() }, output: {} } as unknown as Cli;
  await expect(advisories(cli, undefined, { publish: "no-such-advisory.json" })).rejects.toMatchObject({
    code: "FILE_FAILED",
    message: expect.stringContaining("no-such-advisory.json cannot be read") as string,
  });
});

test("a portolan.yaml that is a folder has a hint about the folder", async () => {
  const cwd = mkdtempSync(join(tmpdir(), "portolan-settings-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  mkdirSync(join(cwd, "portolan.yaml"));
  const cli = { io: { cwd, env: {} }, options: { workspace: cwd } } as unknown as Cli;
  await expect(readPackageSettings(cli)).rejects.toMatchObject({
    code: "FILE_FAILED",
    hint: expect.stringContaining("It is a folder.") as string,
  });
});
