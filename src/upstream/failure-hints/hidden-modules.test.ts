// Modules that a program cannot import, because its sandbox hides their folder.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { PortolanError } from "../../errors/index.ts";
import type { LaunchPlan } from "../../launch/index.ts";
import { hiddenModuleHint, missingModule } from "./hidden-modules.ts";

const home = realpathSync(mkdtempSync(join(tmpdir(), "portolan-modules-")));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const create = (path: string): string => {
  const full = join(home, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, "");
  return full;
};
const SITE_11 = join(home, ".local/lib/python3.11/site-packages");
const SITE_12 = join(home, ".local/lib/python3.12/site-packages");

function find(stderr: string, { program = "/usr/bin/python3.11", notGranted = [] as object[] } = {}) {
  const plan = { program, notGranted } as unknown as LaunchPlan;
  return missingModule(plan, new PortolanError("SERVER_START_FAILED", "it exited", { stderr }), home);
}
const lacks = (name: string): string => `ModuleNotFoundError: No module named '${name}'`;

test("finds modules of Python that pip installed for the user", () => {
  create(".local/lib/python3.11/site-packages/single.py");
  create(".local/lib/python3.11/site-packages/folder/__init__.py");
  create(".local/lib/python3.11/site-packages/folder/part.py");
  create(".local/lib/python3.11/site-packages/fast.cpython-311-x86_64-linux-gnu.so");
  create(".local/lib/python3.12/site-packages/single.py");
  expect(find(lacks("single"))).toEqual({ name: "single", folders: [SITE_11, SITE_12] });
  expect(find(lacks("single"), { program: "/usr/bin/python3.12" })?.folders[0]).toBe(SITE_12);
  const trace = `  File "/usr/lib/python3.12/runpy.py", line 1\n${lacks("single")}`;
  expect(find(trace, { program: "/no/such/python3" })?.folders[0]).toBe(SITE_12);
  for (const name of ["folder", "folder.part", "fast"]) expect(find(lacks(name))?.folders).toEqual([SITE_11]);
  expect(find("/usr/bin/python3: No module named single\n")?.name).toBe("single");
  for (const name of ["sing", "folder.other", "none"]) expect(find(lacks(name))).toBeUndefined();
});

test("a virtual environment does not use the modules of the user", () => {
  create(".local/lib/python3.11/site-packages/single.py");
  create("venv/pyvenv.cfg");
  expect(find(lacks("single"), { program: create("venv/bin/python3") })).toBeUndefined();
});

test("finds packages of Node.js above the program, and in folders that the config names", () => {
  create("node_modules/@a/b/package.json");
  create("modules/c/package.json");
  const from = join(home, "srv/server.mjs");
  const missing = (name: string): string => `Cannot find package '${name}' imported from ${from}`;
  expect(find(missing("@a/b/part"))).toEqual({ name: "@a/b", folders: [join(home, "node_modules")] });
  expect(find(missing("none"))).toBeUndefined();
  const notGranted = [{ path: join(home, "modules"), where: "env.NODE_PATH" }];
  expect(find("Error: Cannot find module 'c'", { notGranted })?.folders).toEqual([join(home, "modules")]);
  expect(find("Error: Cannot find module './c'", { notGranted })).toBeUndefined();
});

test("the hint says that the sandbox hides the module, and how to grant its folder", () => {
  const denied = { path: SITE_11, where: "args[0]" };
  expect(hiddenModuleHint("single", denied, "portolan grant idx")).toBe(
    `The module single is installed in ${SITE_11}, which the sandbox of the server hides. Grant it with: portolan grant idx --read ${SITE_11}`,
  );
  expect(hiddenModuleHint("single", { ...denied, isDenied: true }, "portolan grant idx")).toContain(
    "remove it from fs.deny",
  );
  expect(hiddenModuleHint("single", undefined, "portolan grant idx")).toBeUndefined();
});
