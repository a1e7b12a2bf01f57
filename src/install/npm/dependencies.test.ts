// Dependencies as lines of portolan.lock, and npm's lock file of these lines.

import { expect, test } from "vitest";
import { dependenciesOf, refuseOtherDependencies, refuseSwappedBytes, toNpmLock } from "./dependencies.ts";
import type { Lock, Locked } from "./lock.ts";

const entry = (version: string, more: Partial<Locked> = {}): Locked => ({
  ...{ name: undefined, version, integrity: `sha512-${version}`, resolved: undefined },
  ...{ link: false, inBundle: false, bin: new Map(), ...more },
});
const LOCK: Lock = new Map([
  ["node_modules/own", entry("2.0.0")],
  ["node_modules/a", entry("1.0.0")],
  ["node_modules/a/node_modules/@x/b", entry("3.0.0")],
  ["node_modules/alias", entry("4.0.0", { name: "real" })],
  ["node_modules/inside", entry("5.0.0", { inBundle: true })],
]);
const LINES = [
  "a 1.0.0 sha512-1.0.0",
  "a/node_modules/@x/b 3.0.0 sha512-3.0.0",
  "alias npm:real@4.0.0 sha512-4.0.0",
];

test("writes one line for each dependency, and converts the lines to npm's lockfileVersion 1", () => {
  expect(dependenciesOf(LOCK, "own")).toEqual(LINES);
  expect(toNpmLock({ name: "own", version: "2.0.0" }, LINES)).toMatchObject({
    lockfileVersion: 1,
    dependencies: {
      own: { version: "2.0.0" },
      a: { version: "1.0.0", dependencies: { "@x/b": { version: "3.0.0", integrity: "sha512-3.0.0" } } },
      alias: { version: "npm:real@4.0.0", integrity: undefined },
    },
  });
  expect(() => toNpmLock({ name: "own", version: "2.0.0" }, ["gone/node_modules/b 1.0.0 x"])).toThrow(
    "but not the package that contains it",
  );
});

test.each([
  [
    "another version",
    ["a 1.1.0 sha512-1.1.0", ...LINES.slice(1)],
    "npm chose 1.1.0 of its dependency a, but portolan.lock names 1.0.0",
    "DEPENDENCY_MISMATCH",
  ],
  [
    "another hash",
    ["a 1.0.0 sha512-evil", ...LINES.slice(1)],
    "a 1.0.0 has another hash than portolan.lock names",
    "HASH_MISMATCH",
  ],
  [
    "an additional dependency",
    ["0 1.0.0 sha512-0", ...LINES],
    "npm chose 1.0.0 of its dependency 0, which portolan.lock does not name",
    "DEPENDENCY_MISMATCH",
  ],
  [
    "a missing dependency",
    LINES.slice(1),
    "npm did not find its dependency a 1.0.0, which portolan.lock names",
    "DEPENDENCY_MISMATCH",
  ],
])(
  "%s is refused; only for another hash the hint says not to trust the package",
  (_, found, message, reason) => {
    const refuse = (): void => refuseOtherDependencies("own@2.0.0", LINES, found);
    expect(refuse).toThrow(
      expect.objectContaining({
        message: expect.stringContaining(message) as string,
        data: expect.objectContaining({ reason }) as object,
        hint: (reason === "HASH_MISMATCH"
          ? expect.stringContaining("Do not trust")
          : expect.not.stringContaining("Do not trust")) as string,
      }),
    );
    expect(() => refuseOtherDependencies("own@2.0.0", LINES, LINES)).not.toThrow();
  },
);

test("the error about an integrity failure of npm names the dependency", () => {
  const reason = "Integrity checksum failed when using sha512: wanted sha512-3.0.0 but got sha512-evil.";
  expect(() => refuseSwappedBytes("own@2.0.0", LINES, reason)).toThrow(
    "its dependency a/node_modules/@x/b 3.0.0",
  );
  expect(() => refuseSwappedBytes("own@2.0.0", LINES, "the network is down")).not.toThrow();
});
