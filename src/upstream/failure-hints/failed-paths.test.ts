import { expect, test } from "vitest";
import type { Diagnostic } from "../../errors/index.ts";
import type { LaunchNews } from "../../launch/index.ts";
import { argumentPaths, failedPaths, refusedRelativePaths } from "./failed-access.ts";
import { createLaunchDiagnostics } from "./launch-diagnostics.ts";

test.each([
  ["Error: ENOENT: no such file or directory, open '/home/ann/my notes.txt'", ["/home/ann/my notes.txt"]],
  ["EACCES: permission denied, mkdir '/data/x'", ["/data/x"]],
  ["[Errno 30] Read-only file system: '/srv/out.txt'", ["/srv/out.txt"]],
  ["open /home/ann/a.db: permission denied", ["/home/ann/a.db"]],
  ["sh: 1: cannot create /tmp/w/f: Read-only file system", ["/tmp/w/f"]],
  ["mkdir: cannot create directory ‘/srv/my data’: Permission denied", ["/srv/my data"]],
  ["ENOENT: open '/srv/Ann’s notes'", ["/srv/Ann’s notes"]],
  ["Parent directory does not exist: /tmp/w/x.", ["/tmp/w/x"]],
  ["read https://example.com/a/b: not found", []],
  ["all is well in /home/ann", []],
])("failedPaths finds the paths in: %s", (text, paths) => {
  expect(failedPaths(text)).toEqual(paths);
});

test("failedPaths is quick for a long text, and returns at most eight paths", () => {
  expect(failedPaths(`ENOENT ${"/".repeat(1_000_000)} ${"'/a".repeat(300_000)}`).length).toBeLessThan(9);
  const many = Array.from({ length: 100 }, (_, index) => `'/a/${index}'`).join(" ");
  expect(failedPaths(`ENOENT ${many}`)).toHaveLength(8);
});

test("argumentPaths finds paths at any depth, and ignores texts that only contain a path", () => {
  const value = {
    path: "/a",
    list: ["~/b", "file:///c", 7, null],
    text: "see /d",
    deep: { edits: [{ path: "/e" }] },
  };
  expect(argumentPaths(value)).toEqual(["/a", "~/b", "file:///c", "/e"]);
  expect(argumentPaths(undefined)).toEqual([]);
});

test.each([
  ["rm: cannot remove 'shared/q1': Read-only file system", ["shared/q1"]],
  ["mkdir: cannot create directory ‘my data’: Permission denied", ["my data"]],
  ["EROFS: read-only file system, open 'a/b'", ["a/b"]],
  ["rm: cannot remove '/srv/q1': Read-only file system", []],
  ["rm: cannot remove 'shared/q1': No such file or directory", []],
])("refusedRelativePaths reads: %s", (text, paths) => {
  expect(refusedRelativePaths(text)).toEqual(paths);
});

test("the result of a call and the diagnostic name the same place of a denied path", () => {
  const reported: Diagnostic[] = [];
  const { onLaunch, checkResult } = createLaunchDiagnostics("web", (one) => reported.push(one), undefined);
  onLaunch({
    type: "planned",
    plan: {
      notGranted: [],
      sandbox: { mode: "enforce", backend: "bubblewrap", missing: [], policy: { network: [], home: "/h" } },
    },
    hiddenAmong: (words: string[]) => words.map((path) => ({ path, where: "args[0]" })),
  } as unknown as LaunchNews);
  const params = { name: "t", arguments: { path: "/srv/b" } };
  const text = "EACCES: permission denied, open '/srv/b'";
  const failed = { isError: true, content: [{ type: "text", text }] };
  const place = "hides /srv/b, named in the arguments of a call";
  expect(JSON.stringify(checkResult(failed, { method: "tools/call", params }))).toContain(place);
  expect(reported).toMatchObject([{ message: expect.stringContaining(place) as string }]);
});
