import { expect, test } from "vitest";
import { compareVersions, parseRange, parseVersion, satisfies, type Version } from "./versions.ts";

test.each([
  ["1.2.3", "^1.2.0", true],
  ["2.0.0", "^1.2.0", false],
  ["2.0.0-rc.1", "^1.2.0", false],
  ["0.2.9", "^0.2.3", true],
  ["0.3.0", "^0.2.3", false],
  ["0.0.4", "^0.0.3", false],
  ["1.3.0", "~1.2.3", false],
  ["1.2.9", "1.2.x", true],
  ["2026.8.31", ">=0.5", true],
  ["1.5.0", "1.2 - 1.4", false],
  ["1.4.9", "1.2 - 1.4", true],
  ["3.0.0", "1 || >=2.5 <4", true],
  ["1.0.0-beta.2", "^1.0.0-beta.1", true],
  ["1.1.0-beta.2", "^1.0.0-beta.1", false],
  ["v1.0.0", "*", true],
  ["1.0.0-a", "*", false],
  ["1.0", "*", false],
  ["1.0.0", "not a range", false],
])("version %s satisfies the range %s: %s", (version, range, expected) => {
  expect(satisfies(version, range)).toBe(expected);
  const parsed = parseRange(range);
  expect(parsed !== undefined && satisfies(version, parsed)).toBe(expected);
});

test("versions are parsed and compared", () => {
  expect(parseVersion("v1.2.3-rc.1+b7")).toMatchObject({
    major: 1,
    minor: 2,
    patch: 3,
    prerelease: ["rc", 1],
  });
  for (const text of ["", "1", "1.2", "1.2.3.4", "01.2.3", "x", `1.0.0-${"a".repeat(300)}`])
    expect([text, parseVersion(text)]).toEqual([text, undefined]);
  const sorted = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta", "1.0.0", "1.0.1", "1.10.0", "2.0.0"];
  const shuffled = sorted.toReversed().map((text) => parseVersion(text) as Version & { version: string });
  expect(shuffled.sort(compareVersions).map(({ version }) => version)).toEqual(sorted);
});

test("parseRange handles hostile ranges quickly", () => {
  expect(parseRange("1".repeat(10_000))).toBeUndefined();
  expect(parseRange(`>=1 ${" ".repeat(900)} <2`)).toBeDefined();
  expect(parseRange("^^1")).toBeUndefined();
});
