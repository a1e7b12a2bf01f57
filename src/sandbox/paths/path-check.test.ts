// Paths and file URIs in arguments: paths inside of the grants are accepted, and paths outside are refused, in any
// notation.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SandboxPolicy } from "../types.ts";
import { createPathCheck, type PathCheck } from "./path-check.ts";
import { isInside } from "./paths.ts";

let folder = "";
let checkAll: PathCheck;
const check = async (value: string): Promise<string | undefined> => (await checkAll([value]))?.problem;
const at = (name: string): string => join(folder, name);

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-paths-")));
  for (const name of ["work/sub/deep", "work/hidden", "work-evil", "outside/x", "home"]) {
    mkdirSync(at(name), { recursive: true });
  }
  for (const name of ["work/file", "work/hidden/file", "work-evil/file", "outside/file"]) {
    writeFileSync(at(name), "");
  }
  symlinkSync(at("outside"), at("work/out"));
  symlinkSync("sub/deep", at("work/in"));
  symlinkSync(at("work"), at("alias"));
  symlinkSync("hidden", at("work/veil"));
  checkAll = createPathCheck(policy());
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function policy(): SandboxPolicy {
  return {
    mounts: [
      { path: at("alias"), access: "write", reason: "declared" },
      { path: at("work/hidden"), access: "hidden", reason: "declared" },
    ],
    ...{ home: at("home"), cwd: at("work/sub"), network: [] },
    ...{ exec: { allow: undefined, spawn: true }, limits: {}, configuredLimits: new Set<never>() },
  };
}

describe("allowed paths", () => {
  test.each([
    "",
    ".",
    "deep",
    "deep/new/file",
    "../file",
    "../in",
    "a b",
    "100%",
    "50%20off",
    " a ",
    "a\nb",
    "log-file:1",
  ])("include %j", async (value) => expect(await check(value)).toBeUndefined());

  test("include absolute paths, also through a link that stays inside", async () => {
    for (const name of ["work", "work/file", "alias/file", "work/in/../deep", "work/not/there/yet"]) {
      expect(await check(at(name))).toBeUndefined();
      expect(await check(pathToFileURL(at(name)).href)).toBeUndefined();
      expect(await check(`file://localhost${at(name)}`)).toBeUndefined();
    }
  });

  test("include the HOME and /tmp of the sandbox, but not the files of this machine there", async () => {
    writeFileSync(at("home/there"), "");
    expect(await check(at("home"))).toBeUndefined();
    expect(await check(at("home/new/file"))).toBeUndefined();
    expect(await check("~/new")).toBeUndefined();
    expect(await check("/tmp/portolan-not-there/x")).toBeUndefined();
    expect(await check(at("home/there"))).toBeTypeOf("string");
  });

  test.each([
    "https://example.com/a/../b",
    "data:text/plain,x",
    "s3://bucket/key",
    "mailto:a@b.c",
    "my-file://a/b",
  ])("include %s, which is not a file", async (value) => expect(await check(value)).toBeUndefined());
});

describe("refused paths", () => {
  const OUT = [
    "/etc/passwd",
    "../../../../../../../../etc/passwd",
    "file:///etc/passwd",
    "FILE:///etc/passwd",
    "file:/etc/passwd",
    "file://example.com/etc/passwd",
    "file:////example.com/share",
    "file:etc",
    "deep%2f..%2f..%2f..%2fetc",
    "deep%5c..",
    "%252e%252e/x",
    "a\0b",
    "a%00b",
    "~root/.ssh",
    String.raw`..\..\..\..\..\..\..\..\etc\passwd`,
    "%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "x1:/../../../../../../../../etc/passwd",
    "x1://..%2f..%2f..%2f..%2fetc/passwd",
    "file:///%zz",
    "/proc/self/environ",
    " /etc/passwd",
    "/etc/passwd ",
    "%20/etc/passwd",
    " file:///etc/passwd",
    "\tfile:///etc/passwd",
    "fi\nle:///etc/passwd",
    "fi\tle:/\r//etc/passwd",
    "\0file:///etc/passwd",
    "\u0001/etc/passwd",
    "deep/\u001b[2J",
    "file%3A///etc/passwd",
    "%66ile:///etc/passwd",
    "jar:file:///etc/passwd!/x",
    "view-source:file:///etc/passwd",
    "git+file:///etc/passwd",
    "a:b:FILE:/etc/passwd",
    "x1\t:/../../../../etc/passwd",
    String.raw`file:\\\etc\passwd`,
  ];
  test.each(OUT)("include %j", async (value) => expect(await check(value)).toBeTypeOf("string"));

  test("include a path that is too long", async () =>
    expect(await check("x".repeat(5_000))).toBeTypeOf("string"));

  test("include hidden paths, directly or through a link", async () => {
    for (const name of ["work/hidden", "work/hidden/file", "alias/hidden/file", "work/veil/file"]) {
      expect(await check(at(name))).toBe("is hidden from this server by its sandbox");
    }
  });

  test("include a folder name with the same prefix, and a link that leads out", async () => {
    for (const name of ["work-evil/file", "work/out", "work/out/file", "work/out/../outside", "outside"]) {
      expect(await check(`${folder}/${name}`), name).toBeTypeOf("string");
    }
  });
});

test("allows a nested URI of an allowed file", async () => {
  for (const scheme of ["jar:", "view-source:", "git+"])
    expect(await check(`${scheme}file://${at("work/file")}`)).toBeUndefined();
});

test("allows a working folder that is empty in the sandbox, but not the files of this machine there", async () => {
  const elsewhere = createPathCheck({ ...policy(), cwd: at("outside") });
  expect(await elsewhere(["new/file", "."])).toBeUndefined();
  expect(await elsewhere(["new", "x"])).toMatchObject({ index: 1 });
});

test("reports the first refused path of several values", async () => {
  expect(await checkAll(["deep", "../file", "/etc/passwd", "/etc/shadow"])).toMatchObject({ index: 2 });
  expect(await checkAll([])).toBeUndefined();
});

test("checks many long paths quickly, and can be cancelled", async () => {
  // The check reads each parent folder once, and nothing below a missing one.
  const long = [
    `${at("work")}/${"a/../".repeat(780)}`,
    `${at("work")}/${"sub/../".repeat(560)}`,
    `${at("work")}/${"not/".repeat(990)}`,
    `${at("work")}/${"in/../".repeat(650)}x`,
  ];
  const started = performance.now();
  await checkAll(
    Array.from({ length: 300 }, (_, index) => long[index % 4] ?? "").map((one) => one.slice(0, 4096)),
  );
  expect(performance.now() - started).toBeLessThan(15_000);
  const controller = new AbortController();
  const distinct = Array.from({ length: 600 }, (_, index) => `${at("work")}/n${index}/..`);
  const called = checkAll(distinct, controller.signal);
  controller.abort();
  await expect(called).rejects.toThrow();
});

test("checks very many spaces quickly", async () => {
  const started = performance.now();
  await checkAll(Array.from({ length: 32 }, () => `a${" ".repeat(4000)}b`));
  expect(performance.now() - started).toBeLessThan(15_000);
});

test("property: every accepted path is inside of the allowed folders", async () => {
  const names = [
    "..",
    ".",
    "",
    "out",
    "in",
    "veil",
    "hidden",
    "file",
    "sub",
    "deep",
    "work",
    "work-evil",
  ].concat(["alias", "outside", "%2e%2e", "..%2f", "new", String.raw`..\..`]);
  const start = fc.constantFrom("", "work/", "alias/in/", "work/out/");
  const wayIn = fc.constantFrom("", "file://", "relative");
  await fc.assert(
    fc.asyncProperty(
      start,
      fc.array(fc.constantFrom(...names), { maxLength: 8 }),
      wayIn,
      async (s, path, way) => {
        const rest = path.join("/");
        const value = way === "relative" ? rest : `${way}${at("")}/${s}${rest}`;
        const problem = await check(value);
        if (problem !== undefined) return;
        const absolute = way === "relative" ? `${at("work/sub")}/${rest}` : `${at("")}/${s}${rest}`;
        const real = existing(absolute);
        if (real === undefined) return;
        expect(isInside(real, at("work"))).toBe(true);
        expect(isInside(real, at("work/hidden"))).toBe(false);
      },
    ),
    { numRuns: 500 },
  );
});

test("property: gives an answer for any text", async () => {
  const text = fc.oneof(fc.string(), fc.webUrl(), fc.string({ unit: "binary" }));
  await fc.assert(
    fc.asyncProperty(text, async (value) => {
      expect(["string", "undefined"]).toContain(typeof (await check(value)));
    }),
  );
});

function existing(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
