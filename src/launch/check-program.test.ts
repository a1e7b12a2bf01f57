// Notes about a script in the folder of the workspace, and errors of a program that does not exist.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ServerConfig } from "../model/index.ts";
import { checkProgram, checkProgramFolder } from "./check-program.ts";

/** A folder of a workspace with a script, and one with a script in a folder of its own. */
function workspace(): string {
  const folder = realpathSync(mkdtempSync(join(homedir(), "portolan-program-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "own"));
  for (const name of ["a.mjs", "own/a.mjs"]) writeFileSync(join(folder, name), "");
  return folder;
}

const server = (
  command: string,
  args: readonly string[],
  mode: "enforce" | "off" = "enforce",
): ServerConfig => ({
  ...{ alias: "ops", enabled: true },
  origin: { file: "/w/portolan.yaml", format: "workspace", line: 3, column: 5 },
  endpoint: { transport: "stdio", command, args },
  launch: { sandbox: { mode } },
});

test("a script in the folder of the workspace shows the server the whole folder", async () => {
  const folder = workspace();
  const check = (...args: Parameters<typeof server>) => checkProgramFolder(server(...args), folder);
  expect(await check("node", ["a.mjs"])).toMatchObject([
    {
      ...{ severity: "info", server: "ops", line: 3 },
      message: expect.stringContaining("The server ops can read the folder of the workspace") as string,
      hint: expect.stringContaining("move its script into a folder of its own") as string,
    },
  ]);
  expect(await check("node", ["own/a.mjs"])).toEqual([]);
  expect(await check("cat", [])).toEqual([]);
  expect(await check("node", ["a.mjs"], "off")).toEqual([]);
  // The folder of a program is that of the nearest package.json.
  writeFileSync(join(folder, "package.json"), "{}");
  expect(await check("node", ["own/a.mjs"])).toHaveLength(1);
  writeFileSync(join(folder, "own", "package.json"), "{}");
  expect(await check("node", ["own/a.mjs"])).toEqual([]);
});

test("a program that does not exist is an error; a package may still be downloaded", async () => {
  const folder = workspace();
  expect(await checkProgram(server("portolan-no-such-program", []), folder)).toMatchObject({
    code: "SERVER_START_FAILED",
    data: { reason: "ENOENT" },
  });
  expect(await checkProgram(server("./own/a.mjs", []), folder)).toMatchObject({ data: { reason: "EACCES" } });
  expect(await checkProgram(server("node", ["a.mjs"]), folder)).toBeUndefined();
  expect(await checkProgram(server("npx", ["-y", "portolan-no-such-package"]), folder)).toBeUndefined();
});
