// Hints for missing files of a program, in the words that real programs print.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type ErrorCode, PortolanError } from "../../errors/index.ts";
import type { LaunchPlan } from "../../launch/index.ts";
import { missingFileHint } from "./missing-files.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-missing-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
mkdirSync(join(folder, "node_modules", "there"), { recursive: true });
const write = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return name;
};

function hintFor(
  stderr: string,
  args: string[] = [],
  kind = "binary",
  code: ErrorCode = "SERVER_START_FAILED",
) {
  const plan = { kind, source: "pkg@1.0.0", args } as unknown as LaunchPlan;
  return missingFileHint(plan, new PortolanError(code, "it exited", { stderr }));
}

/** Runs Node.js and returns the hint for its error. */
function hintOf(args: string[], kind?: string): string | undefined {
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  expect(status).toBe(1);
  return hintFor(stderr, args, kind);
}

test("the hint names a missing script", () => {
  const fact = `There is no file ${join(folder, "dist/no.js")}.`;
  expect(hintOf(["dist/no.js"])).toBe(`${fact} Correct the path in the arguments of the server.`);
  const python = `python3: can't open file '${folder}/no.py': [Errno 2] No such file or directory`;
  expect(hintFor(python, ["no.py"])).toContain(`There is no file ${folder}/no.py. Correct the path`);
});

test("the hint names a missing file that the program loads", () => {
  const script = write("cjs.cjs", 'require("./dist/index.js")');
  const fact = `There is no file ${join(folder, "dist/index.js")}.`;
  expect(hintOf([script])).toBe(`${fact} The server may have to be built or installed first.`);
  expect(hintOf([script], "npm")).toBe(
    `${fact} The package pkg@1.0.0 is incomplete. Try another version of the package.`,
  );
  expect(hintOf([write("esm.mjs", 'import "./dist/index.js"')])).toContain(fact);
});

test("the hint names a package that is not installed", () => {
  const script = write("needs.mjs", 'import "@scope/no-such-package/part"');
  expect(hintOf([script])).toMatch(
    /^The package @scope\/no-such-package.* is not installed for .*needs\.mjs\. Install/,
  );
  expect(hintOf([write("needs.cjs", 'require("no-such-package")')], "npm")).toContain(
    "pkg@1.0.0 does not list no-such-package as a dependency",
  );
});

test("there is no hint if the file or package exists, because the sandbox may hide it", () => {
  const script = write("there.js", "");
  expect(hintFor(`Error: Cannot find module '${folder}/${script}'`)).toBeUndefined();
  expect(hintFor(`Error: Cannot find module '${folder}/there'`)).toBeUndefined();
  expect(hintFor(`Cannot find package 'there' imported from ${folder}/a/b.mjs`)).toBeUndefined();
  expect(hintFor("Error: Cannot find module 'x'")).toBeUndefined();
  expect(hintFor("listening")).toBeUndefined();
});

test("there is no hint for a crash of a server that started before", () => {
  expect(hintFor("Error: Cannot find module '/no/such'", [], "binary", "SERVER_CRASHED")).toBeUndefined();
});
