// Paths and file URIs among arguments: what stays inside passes, whatever leads out does not, however it is written.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Box } from "../types.ts";
import { createPathCheck, type PathCheck } from "./path-check.ts";
import { isInside } from "./paths.ts";

let folder = "";
let check: PathCheck;
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
  check = createPathCheck(box());
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function box(): Box {
  return {
    mounts: [
      { path: at("alias"), access: "write", reason: "declared" },
      { path: at("work/hidden"), access: "hidden", reason: "declared" },
    ],
    ...{ home: at("home"), cwd: at("work/sub"), network: [] },
    ...{ exec: { allow: undefined, spawn: true }, limits: {}, declaredLimits: new Set<never>() },
  };
}

describe("passes", () => {
  test.each(["", ".", "deep", "deep/new/file", "../file", "../in", "a b", "100%", "50%20off"])(
    "%j",
    async (value) => expect(await check(value)).toBeUndefined(),
  );

  test("whole paths, also through a link that stays inside", async () => {
    for (const name of ["work", "work/file", "alias/file", "work/in/../deep", "work/not/there/yet"]) {
      expect(await check(at(name))).toBeUndefined();
      expect(await check(pathToFileURL(at(name)).href)).toBeUndefined();
      expect(await check(`file://localhost${at(name)}`)).toBeUndefined();
    }
  });

  test("the box's own HOME and /tmp, but not what this machine has there", async () => {
    writeFileSync(at("home/there"), "");
    expect(await check(at("home"))).toBeUndefined();
    expect(await check(at("home/new/file"))).toBeUndefined();
    expect(await check("~/new")).toBeUndefined();
    expect(await check("/tmp/portolan-not-there/x")).toBeUndefined();
    expect(await check(at("home/there"))).toBeTypeOf("string");
  });

  test.each(["https://example.com/a/../b", "data:text/plain,x", "s3://bucket/key", "mailto:a@b.c"])(
    "%s, which is no file",
    async (value) => expect(await check(value)).toBeUndefined(),
  );
});

describe("is refused", () => {
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
  ];
  test.each(OUT)("%j", async (value) => expect(await check(value)).toBeTypeOf("string"));

  test("what is too long", async () => expect(await check("x".repeat(5_000))).toBeTypeOf("string"));

  test("what is hidden, directly or through a link", async () => {
    for (const name of ["work/hidden", "work/hidden/file", "alias/hidden/file", "work/veil/file"]) {
      expect(await check(at(name))).toBe("is hidden from this server");
    }
  });

  test("a name that only begins alike, and a link that leads out", async () => {
    for (const name of ["work-evil/file", "work/out", "work/out/file", "work/out/../outside", "outside"]) {
      expect(await check(`${folder}/${name}`), name).toBeTypeOf("string");
    }
  });
});

test("whatever passes is really inside", async () => {
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

test("any text gets an answer", async () => {
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
