// What a command needs of its own, on folders laid out as package managers lay them out.

import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ownFolders } from "./own-folder.ts";
import { behindShim } from "./shims.ts";

let folder = "";
const at = (name: string): string => join(folder, name);

function lay(name: string, content = ""): string {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), content);
  chmodSync(at(name), 0o755);
  return at(name);
}

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-own-")));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("nothing for a program of the system", async () => {
  expect(await ownFolders("/bin/sh", ["-c", "true"], undefined)).toEqual([]);
});

test("a script's package, whatever options stand before it", async () => {
  lay("app/package.json", "{}");
  const script = lay("app/dist/bin/server.js");
  expect(await ownFolders("/usr/bin/node", ["--no-warnings", script, folder], undefined)).toEqual([
    at("app"),
  ]);
  expect(await ownFolders("/usr/bin/node", ["dist/bin/server.js"], at("app"))).toEqual([at("app")]);
  expect(await ownFolders("/usr/bin/node", ["."], at("app"))).toEqual([at("app")]);
  expect(await ownFolders("/usr/bin/python3", ["-m", "http.server"], at("app"))).toEqual([]);
});

test("the outermost node_modules, through the link in its .bin", async () => {
  lay("project/package.json", "{}");
  const script = lay("project/node_modules/server/node_modules/inner/cli.js");
  mkdirSync(at("project/node_modules/.bin"));
  symlinkSync("../server/node_modules/inner/cli.js", at("project/node_modules/.bin/inner"));
  expect(await ownFolders("/usr/bin/node", [script], undefined)).toEqual([at("project/node_modules")]);
  expect(await ownFolders(at("project/node_modules/.bin/inner"), [], undefined)).toEqual([
    at("project/node_modules"),
  ]);
});

test("a script without a package brings its neighbours, but not a whole home", async () => {
  expect(await ownFolders("/usr/bin/python3", [lay("loose/server.py")], undefined)).toEqual([at("loose")]);
  expect(await ownFolders("/usr/bin/node", [homedir()], undefined)).not.toContain(dirname(homedir()));
});

test("an installation: its prefix; a single binary: itself", async () => {
  const node = lay("versions/v20/bin/node");
  lay("versions/v20/lib/x");
  expect(await ownFolders(node, [], undefined)).toEqual([at("versions/v20")]);
  const tool = lay("tools/bin/tool");
  expect(await ownFolders(tool, [], undefined)).toEqual([tool]);
});

test("a venv, and the installation that it stands on", async () => {
  const python = lay("pythons/3.11/bin/python3.11");
  symlinkSync("python3.11", at("pythons/3.11/bin/python3"));
  lay("pythons/3.11/lib/x");
  lay("venv/pyvenv.cfg", `home = ${dirname(python)}\nversion = 3.11\n`);
  mkdirSync(at("venv/bin"));
  symlinkSync(python, at("venv/bin/python"));
  const expected = [at("pythons/3.11"), at("venv")];
  expect((await ownFolders(at("venv/bin/python"), [], undefined)).sort()).toEqual(expected);
  const script = lay("venv/bin/mcp-server", `#!${at("venv/bin/python")}\n`);
  expect((await ownFolders(script, [], undefined)).sort()).toEqual(expected);
  lay("private/bin/notes");
  lay("forged/pyvenv.cfg", `home = ${at("private/bin")}\n`);
  expect(await ownFolders(lay("forged/bin/server"), [], undefined)).toEqual([at("forged")]);
});

test("the interpreter that a script's first line looks for", async () => {
  const python = lay("other/bin/python3");
  lay("other/lib/x");
  const script = lay("scripts/bin/run", "#!/usr/bin/env python3\n");
  const found = await ownFolders(script, [], undefined, { environment: { PATH: dirname(python) } });
  expect(found.sort()).toEqual([at("other"), script].sort());
});

test("a shim's real program, or else all that the shim may look through", async () => {
  const shim = lay(".pyenv/shims/python3", "#!/usr/bin/env bash\n");
  const real = lay(".pyenv/versions/3.12.1/bin/python3");
  lay(".pyenv/version", "3.12.1\n");
  expect(await behindShim(shim, folder, {})).toBe(real);
  expect(await behindShim(shim, folder, { PYENV_VERSION: "9.9.9" })).toBe(shim);
  lay("project/.python-version", "9.9.9\n3.12.1\n");
  expect(await behindShim(shim, at("project"), {})).toBe(real);
  expect(await behindShim("/bin/sh", folder, {})).toBe("/bin/sh");
  expect(await ownFolders(shim, [], undefined)).toEqual([at(".pyenv")]);
});
