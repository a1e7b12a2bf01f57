// Version resolution: ranges, tags and defaults by example, and its laws for any set of versions.

import fc from "fast-check";
import { expect, test } from "vitest";
import { satisfies } from "../../base/text/versions.ts";
import { lockProblem } from "../../packages/index.ts";
import { lookAlikeOf } from "./look-alike.ts";
import type { IndexVersion, VersionStatus } from "./types.ts";
import {
  isTagName,
  requireVersion,
  resolveVersion,
  sortVersions,
  tagsAfterDelete,
  tagsAfterPublish,
} from "./versions.ts";

const entry = (status: VersionStatus = "active"): IndexVersion => ({
  integrity: "",
  status,
  publishedAt: "",
});
const versionsOf = (...all: string[]): Record<string, IndexVersion> =>
  Object.fromEntries(
    all.map((text) => {
      const [version = "", status] = text.split(" ");
      return [version, entry(status as VersionStatus | undefined)];
    }),
  );

test.each([
  [["1.0.0", "2.0.0-rc.1"], {}, "", "1.0.0"],
  [["1.0.0", "1.1.0"], { latest: "1.0.0" }, "", "1.0.0"],
  [["1.0.0", "1.1.0"], { latest: "1.0.0" }, "latest", "1.0.0"],
  [["1.0.0-a", "1.0.0-b"], {}, "", "1.0.0-b"],
  [["1.0.0", "1.1.0 deleted"], { latest: "1.1.0" }, "", "1.0.0"],
  [["1.0.0", "1.1.0 deprecated"], {}, "^1", "1.0.0"],
  [["1.1.0 deprecated"], {}, "^1", "1.1.0"],
  [["1.0.0", "1.1.0-rc.1"], {}, "^1", "1.0.0"],
  [["1.0.0", "1.1.0-rc.1"], {}, ">=1.1.0-rc.0", "1.1.0-rc.1"],
  [["1.0.0", "1.1.0-rc.1"], { beta: "1.1.0-rc.1" }, "beta", "1.1.0-rc.1"],
  [["1.0.0"], {}, "beta", undefined],
  [["1.0.0 deleted"], {}, "1.0.0", undefined],
  [["1.0.0"], {}, "constructor", undefined],
] as const)("of the versions %j with the tags %j, %j selects %j", (all, tags, wanted, expected) => {
  expect(resolveVersion({ versions: versionsOf(...all), tags }, wanted)).toBe(expected);
});

test("at least four digits of a hash are a pin, and an ambiguous one is an error", () => {
  const hash = (hex: string): string =>
    `sha256-${Buffer.from(hex.padEnd(64, "0"), "hex").toString("base64")}`;
  const versions = {
    "1.0.0": { ...entry(), integrity: hash("f8a4"), files: [hash("77cc01")] },
    "1.1.0": { ...entry(), integrity: hash("f8a5") },
    "1.2.0": { ...entry("deleted"), integrity: hash("abcd") },
  };
  const tags = { latest: "1.1.0", f8a4: "1.1.0" };
  const found = { description: "", keywords: [], author: "", tags, versions };
  const pins = ["f8a4", "F8A40", "77cc", "f8a", "f8a40001", "abcd", "f8a5"];
  expect(pins.map((pin) => resolveVersion(found, pin))).toEqual([
    ...["1.0.0", "1.0.0", "1.0.0", undefined, undefined, undefined, "1.1.0"],
  ]);
  const twice = { ...found, versions: { ...versions, "1.3.0": { ...entry(), integrity: hash("f8a41") } } };
  expect(() => requireVersion("@a/b", twice, "f8a4")).toThrow(
    "the hashes of several versions start with f8a4 (1.3.0, 1.0.0)",
  );
  expect(requireVersion("@a/b", twice, "f8a41")).toBe("1.3.0");
});

test("decimal digits alone are a version and not a hash, as for the lock file", () => {
  const integrity = `sha256-${Buffer.from("12345a".padEnd(64, "0"), "hex").toString("base64")}`;
  const versions = { "1.0.0": { ...entry(), integrity }, "2024.1.0": entry() };
  const found = { description: "", keywords: [], author: "", tags: {}, versions };
  expect(["12345", "12345a", "2024"].map((pin) => resolveVersion(found, pin))).toEqual([
    ...[undefined, "1.0.0", "2024.1.0"],
  ]);
  expect(() => requireVersion("@a/b", found, "12345")).toThrow(
    expect.objectContaining({
      message: "@a/b has no version 12345",
      hint: expect.stringContaining("write it at least up to its first letter") as string,
    }),
  );
  const locked = { name: "@a/b", version: "1.0.0", source: "", integrity, permissions: [] };
  const fits = (range: string): boolean =>
    lockProblem({ kind: "package", name: "@a/b", range }, locked) === undefined;
  expect(["12345", "12345a", "2024", "1"].map(fits)).toEqual([false, true, false, true]);
});

test("a version, a range or a hash is not a tag name", () => {
  expect(["beta", "next-2"].map(isTagName)).toEqual([true, true]);
  expect(["", "1", "v1", "x", "*", "^1", "Beta", "beef", "a".repeat(51)].some(isTagName)).toBe(false);
});

test("publishing and deleting a version updates the tag latest", () => {
  const versions = versionsOf("1.0.0", "2.0.0", "1.0.1");
  expect(tagsAfterPublish({ tags: { latest: "2.0.0" }, versions }, "1.0.1")).toEqual({ latest: "2.0.0" });
  expect(tagsAfterPublish({ tags: { latest: "2.0.0" }, versions }, "1.0.1", "latest")).toEqual({
    latest: "1.0.1",
  });
  const left = versionsOf("1.0.0", "2.0.0 deleted", "1.0.1");
  expect(tagsAfterDelete({ tags: { latest: "2.0.0", old: "1.0.0" }, versions: left })).toEqual({
    old: "1.0.0",
    latest: "1.0.1",
  });
});

test("a range selects its highest version that is not deleted, if possible one that is not deprecated", () => {
  const number = fc.nat(4);
  const version = fc
    .tuple(number, number, number, fc.constantFrom("", "", "-rc.1"))
    .map(([a, b, c, pre]) => `${a}.${b}.${c}${pre}`);
  const status = fc.constantFrom<VersionStatus>("active", "deprecated", "deleted");
  fc.assert(
    fc.property(
      fc.array(fc.tuple(version, status)),
      version,
      fc.constantFrom("^", "~", ">=", "<"),
      (all, base, sign) => {
        const versions = Object.fromEntries(all.map(([text, state]) => [text, entry(state)]));
        const range = `${sign}${base}`;
        const found = resolveVersion({ versions, tags: {} }, range);
        const fitting = sortVersions(Object.keys(versions)).filter(
          (text) => versions[text]?.status !== "deleted" && satisfies(text, range),
        );
        const best = fitting.find((text) => versions[text]?.status === "active") ?? fitting[0];
        expect(found).toBe(best);
      },
    ),
  );
  fc.assert(
    fc.property(
      fc.string(),
      (wanted) => void resolveVersion({ versions: versionsOf("1.0.0"), tags: {} }, wanted),
    ),
  );
});

test.each([
  ["a1ice", "alice"],
  ["rnicrosoft", "microsoft"],
  ["g1thub", "github"],
  ["open-ai", "openai"],
])("the scope @%s is a look-alike of @%s", (scope, other) => {
  expect(lookAlikeOf(scope, ["bob", other])).toBe(other);
  expect(lookAlikeOf(other, ["bob", other])).toBeUndefined();
});
