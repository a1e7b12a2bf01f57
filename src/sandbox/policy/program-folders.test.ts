// The folders that a program needs, in the layouts of package managers.

import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { resolveShim } from "../../process/index.ts";
import { interpretersOf, programFolders, scriptWord, workspaceFolders } from "./program-folders.ts";

let folder = "";
const at = (name: string): string => join(folder, name);

function createFile(name: string, content = ""): string {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), content);
  chmodSync(at(name), 0o755);
  return at(name);
}

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-own-")));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("returns no folder for a program of the system", async () => {
  expect(await programFolders("/bin/sh", ["-c", "true"], undefined)).toEqual([]);
});

test.each([
  ["node", ["--no-warnings", "/app/none.mjs", "/data/new.db"], "/app/none.mjs"],
  ["node", ["--import", "/app/hooks.mjs", "/app/none.mjs"], "/app/none.mjs"],
  ["/usr/bin/python3.12", ["none.py"], "none.py"],
  ["deno", ["run", "-A", "main.ts"], "main.ts"],
  ["node", ["-e", "code", "/data/new.db"], undefined],
  ["/app/server", ["/data/new.db"], undefined],
] as const)("scriptWord finds the script of %s %j", (file, args, script) => {
  expect(scriptWord(file, args)).toBe(script);
});

test("returns the package of a script, after any options", async () => {
  createFile("app/package.json", "{}");
  const script = createFile("app/dist/bin/server.js");
  expect(await programFolders("/usr/bin/node", ["--no-warnings", script, folder], undefined)).toEqual([
    at("app"),
  ]);
  expect(await programFolders("/usr/bin/node", ["dist/bin/server.js"], at("app"))).toEqual([at("app")]);
  expect(await programFolders("/usr/bin/node", ["."], at("app"))).toEqual([at("app")]);
  expect(await programFolders("/usr/bin/python3", ["-m", "http.server"], at("app"))).toEqual([]);
});

test("returns the outermost node_modules, also through the link in .bin", async () => {
  createFile("project/package.json", "{}");
  const script = createFile("project/node_modules/server/node_modules/inner/cli.js");
  mkdirSync(at("project/node_modules/.bin"));
  symlinkSync("../server/node_modules/inner/cli.js", at("project/node_modules/.bin/inner"));
  expect(await programFolders("/usr/bin/node", [script], undefined)).toEqual([at("project/node_modules")]);
  expect(await programFolders(at("project/node_modules/.bin/inner"), [], undefined)).toEqual([
    at("project/node_modules"),
  ]);
});

describe("programFolders for a package of a workspace", () => {
  const run = async (script: string, writable: string[] = []): Promise<string[]> =>
    workspaceFolders(await programFolders("/usr/bin/node", [at(script)], undefined, { writable }), {
      writable,
    });

  function createPackage(name: string, dependencies: string[] = []): void {
    const versions = Object.fromEntries(dependencies.map((one) => [one, "*"]));
    createFile(`${name}/package.json`, JSON.stringify({ dependencies: versions }));
    createFile(`${name}/server.mjs`);
  }

  function link(path: string, target: string): void {
    mkdirSync(dirname(at(path)), { recursive: true });
    symlinkSync(target, at(path));
  }

  test("returns the hoisted node_modules and the workspace packages that it depends on", async () => {
    createFile("mono/package.json", JSON.stringify({ workspaces: ["packages/*"] }));
    createFile("mono/node_modules/dep/index.js");
    createPackage("mono/packages/srv", ["dep", "@mono/a", "outside", "whole"]);
    createPackage("mono/packages/a", ["b", "srv"]);
    createPackage("mono/packages/b");
    createPackage("mono/packages/unused");
    createPackage("elsewhere");
    link("mono/node_modules/@mono/a", "../../packages/a");
    for (const name of ["srv", "b", "unused"]) link(`mono/node_modules/${name}`, `../packages/${name}`);
    link("mono/node_modules/outside", at("elsewhere"));
    link("mono/node_modules/whole", "..");
    const expected = ["node_modules", "packages/a", "packages/b"].map((one) => at(`mono/${one}`));
    expect(await run("mono/packages/srv/server.mjs")).toEqual(expected);
    expect(await run("mono/node_modules/srv/server.mjs")).toEqual(expected);
    // The script is started by its first line instead of by an interpreter.
    const own = await programFolders(at("mono/packages/srv/server.mjs"), [], undefined);
    expect(own).toEqual([at("mono/packages/srv")]);
    expect(await workspaceFolders(own)).toEqual(expected);
  });

  test("of pnpm, follows the links of pnpm to the packages", async () => {
    createFile("pnpm/pnpm-workspace.yaml", "packages: [packages/*]\n");
    createFile("pnpm/node_modules/.pnpm/dep@1.0.0/node_modules/dep/package.json", "{}");
    createPackage("pnpm/packages/srv", ["dep", "lib"]);
    createPackage("pnpm/packages/lib");
    link("pnpm/packages/srv/node_modules/dep", "../../../node_modules/.pnpm/dep@1.0.0/node_modules/dep");
    link("pnpm/packages/srv/node_modules/lib", "../../lib");
    expect(await run("pnpm/packages/srv/server.mjs")).toEqual([
      ...[at("pnpm/node_modules"), at("pnpm/packages/lib")],
    ]);
  });

  test("returns nothing from a home, through links, or from folders that the server can write", async () => {
    createPackage("single/packages/srv");
    createFile("single/package.json", "{}");
    createFile("single/node_modules/dep/index.js");
    expect(await run("single/packages/srv/server.mjs")).toEqual([]);
    createFile("house/package.json", JSON.stringify({ workspaces: ["*"] }));
    createFile("house/node_modules/dep/index.js");
    createPackage("house/srv");
    vi.stubEnv("HOME", at("house"));
    expect(await run("house/srv/server.mjs")).toEqual([]);
    vi.unstubAllEnvs();
    createFile("linked/package.json", JSON.stringify({ workspaces: ["*"] }));
    createPackage("linked/srv");
    link("linked/node_modules", at("house"));
    expect(await run("linked/srv/server.mjs")).toEqual([]);
    createFile("steered/package.json", JSON.stringify({ workspaces: ["*"] }));
    createPackage("steered/srv", ["private"]);
    createPackage("steered/private");
    link("steered/node_modules/private", "../private");
    expect(await run("steered/srv/server.mjs", [at("steered/node_modules")])).toEqual([]);
  });
});

test("returns the folder of a script without a package, but never a home", async () => {
  expect(await programFolders("/usr/bin/python3", [createFile("loose/server.py")], undefined)).toEqual([
    at("loose"),
  ]);
  expect(await programFolders("/usr/bin/node", [homedir()], undefined)).not.toContain(dirname(homedir()));
});

test("returns the prefix of an installation, and a single binary itself", async () => {
  const node = createFile("versions/v20/bin/node");
  createFile("versions/v20/lib/x");
  expect(await programFolders(node, [], undefined)).toEqual([at("versions/v20")]);
  const tool = createFile("tools/bin/tool");
  expect(await programFolders(tool, [], undefined)).toEqual([tool]);
});

test("returns a venv and the Python installation that it uses", async () => {
  const python = createFile("pythons/3.11/bin/python3.11");
  symlinkSync("python3.11", at("pythons/3.11/bin/python3"));
  createFile("pythons/3.11/lib/x");
  createFile("venv/pyvenv.cfg", `home = ${dirname(python)}\nversion = 3.11\n`);
  mkdirSync(at("venv/bin"));
  symlinkSync(python, at("venv/bin/python"));
  const expected = [at("pythons/3.11"), at("venv")];
  expect((await programFolders(at("venv/bin/python"), [], undefined)).sort()).toEqual(expected);
  const script = createFile("venv/bin/mcp-server", `#!${at("venv/bin/python")}\n`);
  expect((await programFolders(script, [], undefined)).sort()).toEqual(expected);
  createFile("private/bin/notes");
  createFile("forged/pyvenv.cfg", `home = ${at("private/bin")}\n`);
  expect(await programFolders(createFile("forged/bin/server"), [], undefined)).toEqual([at("forged")]);
});

test("returns the interpreter in the first line of a script", async () => {
  const python = createFile("other/bin/python3");
  createFile("other/lib/x");
  const script = createFile("scripts/bin/run", "#!/usr/bin/env python3\n");
  const found = await programFolders(script, [], undefined, { environment: { PATH: dirname(python) } });
  expect(found.sort()).toEqual([at("other"), script].sort());
});

test("returns the real program of a shim, or else all versions that the shim can use", async () => {
  const shim = createFile(".pyenv/shims/python3", "#!/usr/bin/env bash\n");
  const real = createFile(".pyenv/versions/3.12.1/bin/python3");
  createFile(".pyenv/version", "3.12.1\n");
  expect(await resolveShim(shim, folder, {})).toBe(real);
  expect(await resolveShim(shim, folder, { PYENV_VERSION: "9.9.9" })).toBe(shim);
  createFile("project/.python-version", "9.9.9\n3.12.1\n");
  expect(await resolveShim(shim, at("project"), {})).toBe(real);
  expect(await resolveShim("/bin/sh", folder, {})).toBe("/bin/sh");
  expect(await programFolders(shim, [], undefined)).toEqual([at(".pyenv")]);
});

test("finds a script by name, also without its file extension", async () => {
  createFile("named/package.json", "{}");
  createFile("named/server.js");
  createFile("data/notes.txt");
  symlinkSync(at("named"), at("by-link"));
  expect(
    await programFolders("/usr/bin/node", [at("named/server"), at("data/notes.txt")], undefined),
  ).toEqual([at("named")]);
  expect(await programFolders("/usr/bin/node", [at("by-link/server.js")], undefined)).toEqual([
    at("named"),
    at("by-link/server.js"),
  ]);
});

describe("programFolders in a folder that the server can write", () => {
  test("a script, its first line and a link add no folders", async () => {
    createFile("victim/package.json", "{}");
    const victim = createFile("victim/bin/run");
    createFile("mine/package.json", "{}");
    const writable = [at("mine")];
    symlinkSync(victim, at("mine/link.js"));
    for (const name of ["link.js", "./link", at("mine/link.js")])
      expect(await programFolders("/usr/bin/node", [name, victim], at("mine"), { writable })).toEqual([]);
    expect(await programFolders(at("mine/link.js"), [], undefined, { writable })).toEqual([]);
    for (const line of [victim, `/usr/bin/env ${victim}`, `/usr/bin/env -S -u X ${victim}`]) {
      const script = createFile("mine/script", `#!${line}\n`);
      expect(await programFolders(script, [], undefined, { writable })).toEqual([]);
    }
    createFile("mine/sub/package.json", "{}");
    const inner = createFile("mine/sub/server.js");
    expect(await programFolders("/usr/bin/node", [inner], undefined, { writable: [at("mine/sub")] })).toEqual(
      [],
    );
  });

  test("a known interpreter still adds its folder: by its name alone, or in a version manager", async () => {
    vi.stubEnv("HOME", at("user"));
    const python = createFile("user/.local/share/uv/python/cpython-3.12/bin/python3.12");
    createFile("user/.local/share/uv/python/cpython-3.12/lib/x");
    const writable = [at("workspace")];
    mkdirSync(at("workspace/.venv/bin"), { recursive: true });
    symlinkSync(python, at("workspace/.venv/bin/python"));
    const kept = [at("user/.local/share/uv/python/cpython-3.12")];
    expect(await programFolders(at("workspace/.venv/bin/python"), [], undefined, { writable })).toEqual(kept);
    symlinkSync("cpython-3.12", at("user/.local/share/uv/python/cpython-3"));
    symlinkSync(
      at("user/.local/share/uv/python/cpython-3/bin/python3.12"),
      at("workspace/.venv/bin/python3"),
    );
    expect(await programFolders(at("workspace/.venv/bin/python3"), [], undefined, { writable })).toEqual([
      ...kept,
      at("user/.local/share/uv/python/cpython-3"),
    ]);
    createFile("user/.ssh/bin/python3");
    symlinkSync(at("user/.ssh/bin/python3"), at("workspace/.venv/bin/python2"));
    expect(await programFolders(at("workspace/.venv/bin/python2"), [], undefined, { writable })).toEqual([]);
    const node = createFile("user/tools/node-20/bin/node");
    createFile("user/tools/node-20/lib/x");
    const script = createFile("workspace/cli", "#!/usr/bin/env node\n");
    const environment = { PATH: dirname(node) };
    expect(await programFolders(script, [], undefined, { writable, environment })).toEqual([
      at("user/tools/node-20"),
    ]);
    vi.unstubAllEnvs();
  });
});

test.each([
  ["#!/usr/bin/env -S -u NAME node --flag", "node"],
  ["#!/usr/bin/env -iS -C /folder A=b node", "node"],
  ["#!/usr/bin/env -S --unset NAME --chdir=/x node", "node"],
  ["#!/usr/bin/env --no-such-option node", undefined],
  ["#!/usr/bin/env -S -u node", undefined],
])("finds the program in the first line %s", async (line, name) => {
  const script = createFile("env/script", `${line}\n`);
  const PATH = dirname(createFile("env/bin/node"));
  createFile("env/bin/NAME");
  expect(await interpretersOf(script, PATH)).toEqual([
    "/usr/bin/env",
    ...(name === undefined ? [] : [join(PATH, name)]),
  ]);
});

test("never returns a HOME or its Downloads folder, also if HOME is a link", async () => {
  const script = createFile("people/me/server.js");
  const download = createFile("people/me/Downloads/server.py");
  createFile("people/me/.local/lib/x");
  const tool = createFile("people/me/.local/bin/tool");
  symlinkSync(at("people"), at("home-link"));
  for (const home of [at("people/me"), at("home-link/me")]) {
    vi.stubEnv("HOME", home);
    for (const one of [at("people/me"), at("home-link/me")]) {
      const called = (path: string): string => path.replace(at("people/me"), one);
      const found = await programFolders("/usr/bin/node", [called(script)], undefined);
      expect(found).toEqual([...new Set([script, called(script)])]);
      const downloaded = await programFolders("/usr/bin/python3", [called(download)], undefined);
      expect(downloaded).toEqual([...new Set([download, called(download)])]);
      expect(await programFolders(called(tool), [], undefined)).toEqual([tool, at("people/me/.local/lib")]);
    }
  }
  vi.unstubAllEnvs();
});
