// `portolan advisories --publish` with a file that cannot be read.

import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import type { Cli } from "../context.ts";
import { advisories } from "./read.ts";

test("a missing file is an error about the file, not a bug of Portolan", async () => {
  const cli = { io: { cwd: tmpdir() }, output: {} } as unknown as Cli;
  await expect(advisories(cli, undefined, { publish: "no-such-advisory.json" })).rejects.toMatchObject({
    code: "FILE_FAILED",
    message: expect.stringContaining("no-such-advisory.json cannot be read") as string,
  });
});
