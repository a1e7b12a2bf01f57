import { expect, test } from "vitest";
import type { LockedPackage } from "../../packages/index.ts";
import { createColors } from "../terminal/colors.ts";
import { comparePackages, refuseUpdate, renderDifference } from "./difference.ts";
import type { PackageFacts } from "./facts.ts";
import { nextSandbox } from "./update.ts";

const LOCKED: LockedPackage = {
  name: "@a/b",
  version: "1.0.0",
  source: "https://a.com/x.tgz",
  integrity: "sha256-x",
  permissions: ["network"],
};
const FACTS: PackageFacts = {
  ...{ name: "@a/b", version: "1.0.0", description: "x", author: { name: "A" } },
  source: { kind: "binary", url: "https://a.com/x.tgz", size: 100 },
  permissions: ["network"],
  tools: [{ name: "t", description: "old" }, { name: "gone" }],
  settings: [],
};
const AFTER: PackageFacts = {
  ...FACTS,
  version: "1.1.0",
  author: { name: "B" },
  source: { kind: "binary", url: "https://b.com/x.tgz", size: 150 },
  permissions: ["network", "process"],
  tools: [{ name: "t", description: "new" }, { name: "more" }],
};

const compare = (locked: Partial<LockedPackage> = {}, after: Partial<PackageFacts> = {}) =>
  comparePackages({
    ...{ locked: { ...LOCKED, ...locked }, before: FACTS, after: { ...AFTER, ...after } },
    ...{ origin: { state: "unsigned" }, source: "https://b.com/x.tgz" },
  });

test("comparePackages reports changes of permissions, size, tools, source and author", () => {
  const difference = compare();
  expect(difference).toMatchObject({
    permissions: { added: ["process"], removed: [] },
    size: { from: 100, to: 150 },
    tools: { added: ["more"], removed: ["gone"], changed: ["t"] },
    source: { from: "https://a.com/x.tgz", to: "https://b.com/x.tgz" },
    author: { from: "A", to: "B" },
  });
  const text = renderDifference(difference, AFTER, { colors: createColors(false), width: 80 });
  expect(text).toContain("@a/b 1.0.0 → 1.1.0");
  expect(text).toContain("process: starts other programs");
  expect(text).toContain("150 B, before 100 B (+50 %)");
  expect(refuseUpdate(difference)).toEqual([]);
});

test("a downgrade and a missing provenance are refused", () => {
  expect(refuseUpdate(compare({ version: "2.0.0" }))).toMatchObject([
    { reason: "@a/b@1.1.0 is lower than the version 2.0.0 in portolan.lock." },
  ]);
  expect(refuseUpdate(compare({ version: "2.0.0" }), { allowDowngrade: true })).toEqual([]);
  const provenance = [{ kind: "npm-provenance" as const, signer: "github.com/a/b" }];
  expect(refuseUpdate(compare({ provenance }))[0]?.reason).toContain("the provenance is missing now");
});

test("the sandbox follows the new permissions, and keeps rules that the user added", () => {
  const own = {
    mode: "enforce" as const,
    network: ["*", "my.host"],
    exec: { spawn: false },
    fs: { read: ["x"] },
  };
  expect(nextSandbox(own, FACTS, AFTER)).toEqual({
    ...own,
    network: ["my.host", "*"],
    exec: { spawn: true },
  });
  expect(nextSandbox({ network: ["*"], exec: { spawn: true } }, AFTER, { permissions: [] })).toEqual({
    network: [],
    exec: { spawn: false },
  });
  expect(nextSandbox({ network: [], exec: { spawn: true } }, FACTS, FACTS).exec).toEqual({ spawn: true });
});
