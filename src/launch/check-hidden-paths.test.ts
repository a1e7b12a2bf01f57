// Messages about paths that a config names: arguments are counted as in the file.

import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { checkHiddenPaths } from "./check-hidden-paths.ts";

test("an argument after the words of npx has its number in the file", async () => {
  const folder = realpathSync(mkdtempSync(join(homedir(), "portolan-hidden-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const named = async (command: string, args: string[]): Promise<string[]> => {
    const origin = { file: "/w/portolan.yaml", format: "workspace", line: 1, column: 1 } as const;
    const endpoint = { transport: "stdio", command, args } as const;
    const server = {
      alias: "notes",
      enabled: true,
      origin,
      endpoint,
      launch: { sandbox: { mode: "enforce" } },
    } as const;
    const found = await checkHiddenPaths(server, "/");
    return found.map(({ message }) => /named in (\S+):/.exec(message)?.[1] ?? message);
  };
  expect(await named("npx", ["-y", "portolan-no-such-package@1.0.0", "--dir", folder])).toEqual(["args[3]"]);
  expect(await named("cat", ["-u", folder])).toEqual(["args[1]"]);
});
