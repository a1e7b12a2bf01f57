import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compareVersions, parseRange, parseVersion, satisfies, type Version } from "./semver.ts";

interface NpmSemver {
  satisfies(version: string, range: string): boolean;
  validRange(range: string): string | null;
  valid(version: string): string | null;
  compare(a: string, b: string): number;
}

/** The one inside of the npm of this machine: what ranges mean is what it says. */
function npmSemver(): NpmSemver | undefined {
  const beside = (process.env.PATH ?? "").split(":").map((folder) => join(folder, "npm"));
  for (const npm of beside.filter((path) => existsSync(path))) {
    const semver = join(dirname(realpathSync(npm)), "../node_modules/semver");
    if (existsSync(semver)) return createRequire(import.meta.url)(semver) as NpmSemver;
  }
  return undefined;
}

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
])("%s in %s: %s", (version, range, expected) => {
  expect(satisfies(version, range)).toBe(expected);
});

const npm = npmSemver();

describe.skipIf(npm === undefined)("agrees with npm", () => {
  const theirs = npm as NpmSemver;
  const number = fc.oneof(fc.nat(3).map(String), fc.constantFrom("0", "10", "00", "9007199254740993"));
  const tail = fc.constantFrom("", "", "", "-0", "-alpha", "-alpha.1", "-alpha.01", "-1.b", "+b7", "-rc.2+x");
  const version = fc
    .tuple(fc.constantFrom("", "", "v", "="), number, number, number, tail)
    .map(([prefix, a, b, c, end]) => `${prefix}${a}.${b}.${c}${end}`);
  const part = fc.oneof({ weight: 4, arbitrary: fc.nat(3).map(String) }, fc.constantFrom("x", "*", "X"));
  const partial = fc.oneof(
    version,
    part,
    fc.tuple(part, part).map((parts) => parts.join(".")),
    fc.tuple(part, part, part, tail).map(([a, b, c, end]) => `${a}.${b}.${c}${end}`),
  );
  const operator = fc.constantFrom("", "", "^", "~", "~>", ">", ">=", "<", "<=", "=", "^ ", ">= ", "< ");
  const simple = fc.tuple(operator, partial).map((words) => words.join(""));
  const set = fc.oneof(
    simple,
    fc.tuple(simple, simple).map((words) => words.join(" ")),
    fc.tuple(partial, partial).map((words) => words.join(" - ")),
    fc.constantFrom("", "latest", ">", "1.2.3.4", "^^1"),
  );
  const range = fc.array(set, { minLength: 1, maxLength: 3 }).map((sets) => sets.join(" || "));

  test("about what is a version, and which comes first", () => {
    fc.assert(
      fc.property(version, version, (a, b) => {
        expect(parseVersion(a) !== undefined).toBe(theirs.valid(a) !== null);
        if (theirs.valid(a) === null || theirs.valid(b) === null) return;
        const order = compareVersions(parseVersion(a) as Version, parseVersion(b) as Version);
        expect(Object.is(order, -0) ? 0 : order).toBe(theirs.compare(a, b));
      }),
      { numRuns: 3_000 },
    );
  });

  test("about what is a range, and what is in it", () => {
    fc.assert(
      fc.property(version, range, (a, b) => {
        expect(parseRange(b) !== undefined, b).toBe(theirs.validRange(b) !== null);
        expect(satisfies(a, b), `${a} in ${b}`).toBe(theirs.satisfies(a, b));
      }),
      { numRuns: 20_000 },
    );
  });
});
