// Paths of a config that the sandbox hides, and those that it closes, so that a server does not write to a place
// that is lost.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import type { Mount } from "../types.ts";
import { type HiddenPaths, hiddenPaths } from "./hidden-paths.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-hidden-")));
const at = (name: string): string => join(folder, name);
for (const name of ["shown", "data", "home/notes", "home/.cache", "work"])
  mkdirSync(at(name), { recursive: true });
for (const name of ["notes.db", "work/start", "data/secret", "home/notes.json"]) writeFileSync(at(name), "");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Given {
  readonly script?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly mounts?: readonly Mount[];
}

const SHOWN: Mount = { path: at("shown"), access: "read", reason: "declared" };

function look({ script, args = [], env = {}, cwd = at("work"), mounts = [SHOWN] }: Given): HiddenPaths {
  const home = at("home");
  return hiddenPaths({ script, args, env, cwd }, { mounts, home, cwd }, home);
}

const named = (given: Given): string[] => look(given).named.map(({ path }) => path.slice(folder.length + 1));

test("finds paths in arguments: absolute, relative, in options, in file and database URLs, with ~", () => {
  const words = [at("data"), "../data", `--db=${at("notes.db")}`, "start", `db=${at("data/secret")}`];
  expect(named({ args: words })).toEqual(["data", "notes.db", "work/start", "data/secret"]);
  const urls = [`file://${at("data")}`, `sqlite:///${at("notes.db")}?mode=rw`, "~/notes"];
  expect(named({ args: urls })).toEqual(["data", "notes.db", "home/notes"]);
});

test("marks the data of Portolan, because no grant shows it", () => {
  vi.stubEnv("XDG_DATA_HOME", at("home"));
  onTestFinished(() => void vi.unstubAllEnvs());
  mkdirSync(at("home/portolan"));
  expect(look({ args: [at("home/portolan"), at("data")] }).named).toMatchObject([
    { path: at("home/portolan"), isOwnData: true },
    { path: at("data") },
  ]);
  expect(look({ args: [at("data")] }).named[0]).not.toHaveProperty("isOwnData");
});

test("finds paths and lists of paths in variables, and ignores common variables", () => {
  const env = { DB: at("notes.db"), DIRS: `${at("data")}:${at("shown")}`, PATH: at("data"), WORD: "start" };
  expect(look({ env }).named).toEqual([
    { path: at("notes.db"), where: "env.DB", isPrivate: true },
    { path: at("data"), where: "env.DIRS", isPrivate: true },
  ]);
});

test("ignores granted paths, words that are no path, references and missing files", () => {
  expect(
    named({ args: [at("shown"), "../shown/x", "end", "--verbose", "-", "", "a=b", "${file:/etc/passwd}"] }),
  ).toEqual([]);
  expect(
    named({
      args: [at("data"), "/"],
      mounts: [
        { ...SHOWN, path: "/" },
        { ...SHOWN, path: folder },
      ],
    }),
  ).toEqual([]);
});

test("ignores URLs of other schemes, so that no warning contains their passwords", () => {
  const url = "redis://:password@cache.example:6379";
  expect(
    look({ args: [url, `--url=${url}`, "https://me:password@host/x"], env: { URL: url } }).named,
  ).toEqual([]);
});

test("a path that is denied inside of a grant is hidden", () => {
  const mounts: Mount[] = [
    { path: at("data"), access: "read", reason: "declared" },
    { path: at("data/secret"), access: "hidden", reason: "declared" },
  ];
  expect(named({ args: [at("data"), at("data/secret")], mounts })).toEqual(["data/secret"]);
});

test("closes a private folder in place of an existing path, and a hidden working folder", () => {
  expect(look({ args: [at("data")] }).closed).toEqual([at("data"), at("work")]);
  // A folder that is granted, or that contains a grant, exists in the sandbox anyway.
  expect(look({ cwd: at("shown") }).closed).toEqual([]);
  // Outside of HOME and /tmp nothing can be written.
  expect(look({ args: ["/etc/hostname", "/tmp", "/var/tmp"], cwd: "/" }).closed).toEqual([]);
});

test("also closes the folder of an existing file, unless it is a home or a cache", () => {
  const args = ["~/notes/old.db", "~/notes.json", "~/.cache/x.json"];
  for (const name of ["home/notes/old.db", "home/.cache/x.json"]) writeFileSync(at(name), "");
  expect(look({ args, cwd: at("shown") }).closed).toEqual([
    at("home/notes/old.db"),
    at("home/notes"),
    at("home/notes.json"),
    at("home/.cache/x.json"),
  ]);
});

test("reports a new file next to files of the user, but not a cache or a temporary file", () => {
  const args = [
    "~/notes/new.db",
    "~/new.json",
    "~/.new.json",
    "~/.cache/x/y",
    "/tmp/portolan-none.db",
    "word",
  ];
  const found = look({ args, cwd: at("shown") });
  expect(found.named).toEqual([
    {
      ...{ path: at("home/notes/new.db"), where: "args[0]", isNew: true, isPrivate: true },
      grant: at("home/notes"),
    },
    { path: at("home/new.json"), where: "args[1]", isNew: true, isPrivate: true },
    { path: at("home/.new.json"), where: "args[2]", isNew: true, isPrivate: true },
  ]);
  expect(found.closed).toEqual([at("home/notes"), at("home/new.json"), at("home/.new.json")]);
});

test("marks a missing script as an error and does not suggest to grant its folder", () => {
  const args = ["~/notes/none.mjs", "~/notes/new.db"];
  expect(look({ script: "~/notes/none.mjs", args, cwd: at("shown") }).named).toEqual([
    { path: at("home/notes/none.mjs"), where: "args[0]", isNew: true, isPrivate: true, isScript: true },
    {
      ...{ path: at("home/notes/new.db"), where: "args[1]", isNew: true, isPrivate: true },
      grant: at("home/notes"),
    },
  ]);
  expect(named({ script: "none.py", args: ["none.py"] })).toEqual(["work/none.py"]);
  // These are the name of a command in a package, and the name of a class.
  for (const script of ["begin", "com.example.Main"]) expect(named({ script, args: [script] })).toEqual([]);
});

test("marks a path that the config denies, because no grant would help", () => {
  const mounts = [SHOWN, { path: at("data"), access: "hidden", reason: "declared" } as const];
  expect(look({ args: [at("data/secret"), at("notes.db")], mounts }).named).toEqual([
    { path: at("data/secret"), where: "args[0]", isPrivate: true, isDenied: true },
    { path: at("notes.db"), where: "args[1]", isPrivate: true },
  ]);
});
