// Paths of the user that a server means when it fails at a path in its private home.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { PortolanError } from "../../errors/index.ts";
import type { LaunchNews } from "../../launch/index.ts";
import { createLaunchDiagnostics } from "./launch-diagnostics.ts";
import { meantPaths } from "./private-home.ts";

const userHome = mkdtempSync(join(tmpdir(), "portolan-home-"));
afterAll(() => rmSync(userHome, { recursive: true, force: true }));
mkdirSync(join(userHome, "data"));
mkdirSync(join(userHome, ".aws"));
for (const name of ["data/old.txt", ".aws/credentials", "notes.txt"]) writeFileSync(join(userHome, name), "");

const find = (...names: string[]) =>
  meantPaths(
    names.map((name) => `/tmp/home/${name}`),
    { home: "/tmp/home", userHome },
  );

test("names the file or folder of the user, and the folder to grant", () => {
  const meant = (name: string) => ({
    path: join(userHome, name),
    inPrivateHome: { seen: `/tmp/home/${name}`, home: "/tmp/home", written: `~/${name}` },
  });
  const grant = join(userHome, "data");
  expect(find("data/new.txt", "data/old.txt", "data", "notes.txt", ".aws/credentials")).toEqual([
    { ...meant("data/new.txt"), grant, isForReading: false },
    { ...meant("data/old.txt"), grant, isForReading: false },
    { ...meant("data"), isForReading: false },
    { ...meant("notes.txt"), isForReading: false },
    meant(".aws/credentials"),
  ]);
});

test("ignores paths that exist nowhere in the home of the user, and other paths", () => {
  expect(find("new.txt", "none/new.txt", ".cache/x", "../data/old.txt")).toEqual([]);
  expect(meantPaths(["/tmp/homely/data", "/tmp/home"], { home: "/tmp/home", userHome })).toEqual([]);
  expect(meantPaths([join(userHome, "data")], { home: userHome, userHome: undefined })).toEqual([]);
});

test("results and errors name the path that the server means; a named caller does not learn the home folder", () => {
  const command = "portolan grant web";
  const { onLaunch, checkResult, explain } = createLaunchDiagnostics("web", () => {}, undefined, { command });
  const policy = { home: "/tmp/home", userHome, network: [], limits: {} };
  const plan = {
    program: "node",
    args: [],
    notGranted: [],
    sandbox: { backend: "bubblewrap", mode: "enforce", policy, missing: [] },
  };
  const hiddenAmong = (words: string[]): object[] =>
    words.flatMap((path) => (path.startsWith(userHome) ? [{ path, where: "args[0]" }] : []));
  onLaunch({ type: "planned", plan, hiddenAmong } as unknown as LaunchNews);
  const stderr = "Error: ENOENT: no such file or directory, open '/tmp/home/data/new.txt'";
  const failed = { isError: true, content: [{ type: "text", text: stderr }] };
  const call = { method: "tools/call", params: { name: "t", arguments: {} } };
  const folder = join(userHome, "data");
  const fact = `/tmp/home is the private home of the sandbox; the server probably means ${folder}/new.txt`;
  const grant = `Grant it with: portolan grant web --write ${folder}`;
  const lastText = (result: object): string =>
    (result as { content: { text: string }[] }).content.at(-1)?.text ?? "";
  const shown = lastText(checkResult(failed, call));
  expect(shown).toContain(fact);
  expect(shown).toContain(grant);
  const { hint } = explain(new PortolanError("SERVER_START_FAILED", "it exited", { stderr }), 0);
  expect(hint).toContain(`${fact}. ${grant}`);
  const caller = { account: "dev", clientInfo: { name: "x", version: "1" }, capabilities: {} };
  const forCaller = checkResult(failed, { ...call, caller });
  expect(lastText(forCaller)).toMatch(/means ~\/data\/new\.txt.* grant access to ~\/data\/new\.txt\.$/);
  expect(JSON.stringify(forCaller)).not.toContain(userHome);
});
