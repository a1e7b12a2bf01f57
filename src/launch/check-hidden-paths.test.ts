// Messages about paths that a config names: arguments are counted as in the file.

import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { checkHiddenPaths } from "./check-hidden-paths.ts";

test("a granted path that does not exist is reported as such, and no grant is suggested", async () => {
  const folder = realpathSync(mkdtempSync(join(homedir(), "portolan-hidden-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "notes"));
  const path = join(folder, "ntoes");
  const found = await checkHiddenPaths(
    {
      ...{
        alias: "fs",
        enabled: true,
        origin: { file: "/w/portolan.yaml", format: "workspace", line: 1, column: 1 },
      },
      endpoint: { transport: "stdio", command: "cat", args: [path] },
      launch: { sandbox: { mode: "enforce", fs: { write: [path] } } },
    },
    "/",
  );
  expect(found).toMatchObject([
    {
      code: "SANDBOX_UNAVAILABLE",
      message: `The sandbox of server "fs" cannot be enforced: fs.write: ${path}: it does not exist.`,
      hint: `Did you mean ${join(folder, "notes")}? If not, run \`mkdir -p ${path}\`.`,
    },
  ]);
});

test("the message names an argument of npx by its index in the config file", async () => {
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
