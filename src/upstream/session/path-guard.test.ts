// Every path of a call is checked at any depth, and a check ends with its call.

import { expect, test } from "vitest";
import type { JsonObject } from "../../model/index.ts";
import type { PathCheck } from "../../sandbox/index.ts";
import { createPathGuard, type PathGuard } from "./path-guard.ts";

const asked: string[] = [];
const check: PathCheck = async (values) => {
  asked.push(...values);
  const index = values.findIndex((value) => value.includes("/etc"));
  return index === -1 ? undefined : { index, kind: "outside", problem: "is outside" };
};

function guardWith(problemOf: PathCheck = check): PathGuard {
  const declared = { "read_*": ["path", "paths"] };
  const guard = createPathGuard({ server: "files", check: problemOf, declared, timeoutMs: 10_000 });
  if (guard === undefined) expect.fail("no guard");
  return guard;
}

const call = (given: JsonObject, tool = "read_file") => ({
  method: "tools/call",
  params: { name: tool, arguments: given },
});
const read = (uri: string, method = "resources/read") => ({ method, params: { uri } });

test("createPathGuard returns no guard without a sandbox", () => {
  expect(createPathGuard({ server: "files", check: undefined, timeoutMs: 1 })).toBeUndefined();
});

test.each([
  { path: "/etc/passwd" },
  { path: ["a", "/etc/passwd"] },
  { path: { p: "/etc/passwd" } },
  { paths: [{ path: "a" }, { deep: [[{ path: ["/etc/passwd"] }]] }] },
])("refuses the call with %j", async (given) => {
  await expect(guardWith()(call(given))).rejects.toMatchObject({
    code: "SANDBOX_DENIED",
    server: "files",
    tool: "read_file",
    message: `the call was not sent: the argument ${Object.keys(given)[0]} "/etc/passwd" is outside`,
    data: { argument: Object.keys(given)[0], path: "/etc/passwd", access: "read" },
  });
});

test("does not check arguments that path_arguments does not list or that are not strings", async () => {
  const guard = guardWith();
  asked.length = 0;
  expect(guard(call({ path: "/etc" }, "write_file"))).toBeUndefined();
  expect(guard(call({ other: "/etc", path: 5, paths: [null, true, {}] }))).toBeUndefined();
  expect(guard({ method: "tools/list" })).toBeUndefined();
  await guard(call({ path: "b", paths: ["c", { d: "d" }] }));
  expect(asked.toSorted()).toEqual(["b", "c", "d"]);
});

test.each([
  ["texts", Array<string>(1001).fill("a")],
  ["characters", Array<string>(40).fill("a".repeat(4000))],
  ["values", Array<number>(30_000).fill(1)],
])("refuses too many %s without checking any path", async (_, paths) => {
  asked.length = 0;
  await expect(guardWith()(call({ paths }))).rejects.toMatchObject({
    code: "SANDBOX_DENIED",
    message: "the call was not sent: its arguments contain more paths than Portolan checks",
  });
  expect(asked).toEqual([]);
});

test.each([
  ...[
    "file:///etc/passwd",
    "FILE:/etc/passwd",
    "file:x/../etc/x",
    " file:///etc/x",
    "fi\tle:///etc/x",
    "\0file:///etc/x",
  ],
  ...["mcp_fs:file:///etc/passwd", "view-source:file:///etc/x", "git+file:///etc/x"],
])("checks a file URI in any argument: %j", async (uri) => {
  asked.length = 0;
  const refused = {
    code: "SANDBOX_DENIED",
    tool: "other",
    message: expect.stringMatching(/^the call was not sent: the argument a "file:.*" is outside$/i) as string,
  };
  await expect(guardWith()(call({ a: uri }, "other"))).rejects.toMatchObject(refused);
  await expect(guardWith()(call({ a: [{ b: uri }] }, "other"))).rejects.toMatchObject(refused);
  expect(asked.every((one) => /^file:/i.test(one))).toBe(true);
});

test.each([
  "File: see /etc/hosts",
  "a file:///etc/x",
  "profile:/etc",
  "file:src/etc lang:ts",
  "https://a/file:/etc",
  "file:",
  "/etc",
])("does not check a text that is not a file URI: %j", (text) => {
  expect(guardWith()(call({ a: text, b: Array<number>(30_000).fill(1) }, "other"))).toBeUndefined();
});

test("checks a path in very deeply nested arguments", async () => {
  let deep: unknown = "/etc/passwd";
  for (let level = 0; level < 15_000; level += 1) deep = [deep];
  await expect(guardWith()(call({ path: deep }))).rejects.toMatchObject({
    code: "SANDBOX_DENIED",
  });
});

test.each([
  ...["file:///etc/passwd", " file:///etc/x", "\tfile:///etc/x", "fi\tle:///etc/x", "file\n:///etc/x"],
  ...["\0file:///etc/x", "view-source:file:///etc/x", "jar:file:///etc/x", "git+file:///etc/x"],
  ...["/etc/passwd", "../../etc/passwd", "x:/etc"],
])("checks the resource %j", async (uri) => {
  for (const method of ["resources/read", "resources/subscribe"])
    await expect(guardWith()(read(uri, method))).rejects.toMatchObject({
      message: `the request was not sent: the URI ${JSON.stringify(uri)} is outside`,
    });
});

test.each(["https://a/etc", "note://etc/../..", "db+x:/etc", "my-file://etc/1", `data:${"x".repeat(9000)}`])(
  "does not check the resource %.30j, which is not a file",
  (uri) => {
    expect(guardWith()(read(uri))).toBeUndefined();
  },
);

test("a check ends when its call times out or is cancelled", async () => {
  const signals: AbortSignal[] = [];
  const guard = guardWith((_values, signal) => {
    if (signal !== undefined) signals.push(signal);
    return new Promise(() => {});
  });
  await expect(guard({ ...call({ path: "a" }), timeoutMs: 20 })).rejects.toMatchObject({ code: "TIMEOUT" });
  const controller = new AbortController();
  const aborted = guard({ ...call({ path: "a" }), signal: controller.signal });
  controller.abort();
  await expect(aborted).rejects.toMatchObject({ code: "CANCELLED" });
  expect(signals.map((signal) => signal.aborted)).toEqual([true, true]);
});
