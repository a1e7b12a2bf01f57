// Packages that npm's lock file must not name.

import { expect, test } from "vitest";
import { type Locked, refuseOthers } from "./lock.ts";

const entry = (resolved: string | undefined): Locked => ({
  ...{ name: undefined, version: "1.0.0", integrity: "sha512-AAAA", resolved },
  ...{ link: false, inBundle: false, bin: new Map() },
});

test.each([
  ["node_modules/@x/own", "the package itself has no source URL."],
  ["node_modules/a", 'its dependency "a" has no source URL.'],
  ["node_modules/a/node_modules/@x/own", 'its dependency "@x/own" has no source URL.'],
])("a lock file in which %s has no source URL is refused", (place, message) => {
  const lock = new Map([
    ["node_modules/b", entry("https://registry.example/b.tgz")],
    [place, entry(undefined)],
  ]);
  expect(() => refuseOthers({ spec: "@x/own@1", name: "@x/own" }, lock)).toThrow(message);
});
