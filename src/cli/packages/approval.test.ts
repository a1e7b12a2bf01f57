import { expect, test } from "vitest";
import type { PackagePolicy } from "../../model/index.ts";
import type { Advisory } from "../../registry/index.ts";
import { createColors } from "../terminal/colors.ts";
import { type ApprovalRequest, createApproval, describePermission } from "./approval.ts";
import { renderApproval } from "./approval-view.ts";
import type { PackageFacts } from "./facts.ts";

const NOW = new Date("2026-06-01T00:00:00Z");
const FACTS: PackageFacts = {
  name: "@alice/github-mcp",
  version: "1.0.0",
  description: "GitHub for scripts",
  author: { name: "Alice", email: "alice@example.com" },
  license: "MIT",
  registry: "https://registry.example.com",
  publishedAt: "2026-05-31T00:00:00Z",
  source: { kind: "github", url: "https://github.com/alice/x.tgz", size: 2_000_000 },
  permissions: ["network", "github-api"],
  sandbox: { required: true, type: "process" },
  audit: { reviewer: "@team", lastReviewed: "2026-01-01T00:00:00Z", report: "https://example.com/report" },
  tools: [{ name: "create_issue", description: "Create an issue" }],
  settings: [],
};

const advisory = (severity: Advisory["severity"], id = "MLLD-2026-0001"): Advisory => ({
  ...{ id, title: "Leak", severity, summary: "x", affected: {}, published: "", updated: "" },
});

function approve(change: Partial<PackageFacts> = {}, request: Partial<ApprovalRequest> = {}) {
  return createApproval({
    ...{ facts: { ...FACTS, ...change }, advisories: [], policy: {}, now: NOW },
    ...{ origin: { state: "unsigned" }, ...request },
  });
}
const reasons = (...args: Parameters<typeof approve>): string[] =>
  approve(...args).refusals.map(({ reason }) => reason);
const withPolicy = (policy: PackagePolicy): [{}, Partial<ApprovalRequest>] => [{}, { policy }];

test("a package that meets the policy is shown with all its facts, and is not refused", () => {
  const approval = approve();
  expect(approval.refusals).toEqual([]);
  expect(approval.permissions).toEqual([
    { name: "network", means: "connects only to api.github.com", reach: "narrow" },
    { name: "github-api", means: "connects to api.github.com", reach: "narrow" },
  ]);
  const text = renderApproval(approval, { colors: createColors(false), width: 80, now: NOW });
  for (const part of [
    "@alice/github-mcp 1.0.0",
    "Alice, alice@example.com",
    "2.0 MB",
    "24 hours ago",
    "not signed",
    "@team",
    "none are known",
    "api.github.com; no other programs",
    "create_issue: Create an issue",
  ])
    expect(text).toContain(part);
});

test.each([
  ["network", ["network"], "connects to every public host on the internet", "wide"],
  ["process", ["process"], "starts other programs inside its sandbox", "wide"],
  ["moon-api", ["moon-api"], "is not known to Portolan and grants nothing", "none"],
] as const)("describePermission says that %s of %j %s", (name, all, means, reach) => {
  expect(describePermission(name, all)).toEqual({ name, means, reach });
});

test("a package without the proofs that the policy requires is refused", () => {
  expect(reasons(...withPolicy({ require: ["provenance", "signature"] }))).toEqual([
    "The workspace requires provenance, but the package is unsigned.",
    "The workspace requires a signature, but the package is unsigned.",
  ]);
  expect(reasons({ audit: undefined }, { policy: { require: ["audit"] } })).toHaveLength(1);
  const origin = {
    state: "verified" as const,
    proofs: [{ kind: "npm-provenance" as const, signer: "github.com/alice/x" }],
  };
  expect(reasons({}, { origin, policy: { require: ["provenance", "signature"] } })).toEqual([]);
  expect(reasons({}, { origin: { state: "invalid", reason: "expired", problem: "forged" } })).toHaveLength(1);
});

test("a release that is too young or has no date is refused", () => {
  const policy = { minReleaseAgeMs: 3 * 86_400_000 };
  expect(reasons({}, { policy })).toEqual([
    "@alice/github-mcp@1.0.0 was published 24 hours ago, but packages.min_release_age in portolan.yaml requires an age of 3 days.",
  ]);
  expect(reasons({ publishedAt: "2026-05-01T00:00:00Z" }, { policy })).toEqual([]);
  expect(reasons({ publishedAt: undefined }, { policy })).toHaveLength(1);
  expect(reasons({ publishedAt: "2026-06-05T00:00:00Z" }, { policy })).toHaveLength(1);
});

test("advisories warn and refuse by severity", () => {
  const advisories = (["low", "medium", "high", "critical"] as const).map((one) => advisory(one));
  const actions = (policy: PackagePolicy): string[] =>
    (approve({}, { advisories, policy }).advisories ?? []).map(({ action }) => action);
  expect(actions({})).toEqual(["show", "warn", "warn", "refuse"]);
  expect(actions({ advisories: { refuse: "high", warn: "low" } })).toEqual([
    "warn",
    "warn",
    "refuse",
    "refuse",
  ]);
  expect(actions({ advisories: { refuse: "never", warn: "never" } })).toEqual([
    "show",
    "show",
    "show",
    "show",
  ]);
});

test("the text says that advisories were not checked, if there is no source for them", () => {
  const view = { colors: createColors(false), width: undefined, now: NOW };
  const official = approve({}, { advisories: undefined });
  expect(official.advisories).toBeUndefined();
  expect(renderApproval(official, view)).toContain(
    "not checked, because the API of the official MCP registry does not publish advisories",
  );
  const bundle = renderApproval(approve({ registry: undefined }, { advisories: undefined }), view);
  expect(bundle).toContain("not checked, because the package does not come from a registry");
  for (const text of [renderApproval(official, view), bundle]) expect(text).not.toContain("none are known");
});

test("a package with hidden characters or look-alike letters is refused, and they are shown", () => {
  const { package: about, refusals } = approve({
    description: "Safe\u200b tool",
    author: { name: "\u0410lice" },
  });
  expect(about.description).toBe("Safe<U+200B> tool");
  expect(about.author).toBe("<U+0410>lice");
  expect(refusals.map(({ reason }) => reason)).toEqual([
    "The description has zero-width characters: Safe<U+200B> tool",
    "The author has letters of several alphabets in one word: <U+0410>lice",
  ]);
  expect(reasons({ description: "Пишет заметки 📝👩‍💻" })).toEqual([]);
});

test("a scope that looks like an older one, and an unsupported sandbox type, are refused", () => {
  expect(reasons({}, { looksLike: "a1ice" })[0]).toContain("looks like the older scope @a1ice");
  expect(reasons({ sandbox: { required: true, type: "wasm" } })[0]).toContain("wasm");
});

test("the sandbox grants what the launcher of a server needs, and the text names it", () => {
  const undeclared = { permissions: undefined, sandbox: undefined };
  const python = approve({ ...undeclared, launcher: "uvx" });
  expect(python.sandbox).toMatchObject({ exec: { spawn: true } });
  const view = { colors: createColors(false), width: undefined, now: NOW };
  expect(renderApproval(python, view)).toContain("other programs");
  const image = approve({ ...undeclared, place: "container" });
  expect(image.sandbox?.exec).toBeUndefined();
  expect(renderApproval(image, view)).toContain("the programs of its image");
});
