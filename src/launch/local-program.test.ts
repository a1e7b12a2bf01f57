// Programs of package runners in node_modules.

import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseProgram, type InstallableProgram, type ServerConfig } from "../model/index.ts";
import { preferLocal } from "./local-program.ts";
import { createLaunchContext } from "./types.ts";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-local-")));
  mkdirSync(join(folder, "node_modules/.bin"), { recursive: true });
  for (const name of ["tsx", "tsc"]) {
    writeFileSync(join(folder, "node_modules/.bin", name), "#!/bin/sh\n");
    chmodSync(join(folder, "node_modules/.bin", name), 0o755);
  }
  mkdirSync(join(folder, "node_modules/typescript"));
  writeFileSync(join(folder, "node_modules/typescript/package.json"), JSON.stringify({ bin: { tsc: "a" } }));
});
afterEach(() => rmSync(folder, { recursive: true }));

function find(words: readonly string[], servers: readonly ServerConfig[] = []): Promise<InstallableProgram> {
  const endpoint = { command: "npx", args: words, cwd: folder };
  const context = { ...createLaunchContext(), servers };
  return preferLocal(parseProgram(endpoint), { server: "s", endpoint, context });
}

const serverThatWrites = (alias: string): ServerConfig =>
  ({ alias, endpoint: { transport: "stdio" }, launch: { sandbox: { fs: { write: [folder] } } } }) as never;

test.each([
  [["tsx", "server.ts"], "tsx", ["server.ts"]],
  [["-y", "typescript"], "tsc", []],
  [["-p", "typescript", "tsc"], "tsc", []],
])("npx %j starts the program in node_modules", async (words, program, args) => {
  const command = join(folder, "node_modules/.bin", program);
  expect(await find(words)).toEqual({ kind: "binary", command, args });
});

test.each([[["tsx@4"]], [["other"]], [["-p", "other", "tsc"]]])(
  "npx %j installs a package",
  async (words) => {
    expect(await find(words)).toMatchObject({ kind: "npm" });
  },
);

test("a program that another server can replace is not used", async () => {
  expect(await find(["tsx"], [serverThatWrites("s")])).toMatchObject({ kind: "binary" });
  expect(await find(["tsx"], [serverThatWrites("other")])).toMatchObject({ kind: "npm" });
});
