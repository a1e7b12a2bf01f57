// Metadata of packages: the example of the format, each rule by a document that breaks it, and hostile documents.

import { readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Diagnostic } from "../../errors/index.ts";
import { createValidator } from "../../schema/index.ts";
import { toJsonSchemaDocument } from "../schema-builder/index.ts";
import { variableOf } from "./check.ts";
import { looksLikePackage, type PackageOptions, type PackageResult, parsePackage } from "./read.ts";
import { PACKAGE } from "./schema.ts";

const EXAMPLE = readFileSync(
  new URL("../../../test/fixtures/packages/github-mcp.json", import.meta.url),
  "utf8",
);
const HASH = "sha256-Qw1bHtLNfhLjfW5V7HgqTB3G6HgpTbSjs8yH4rPkLJI=";
const NOW = new Date("2026-06-01T00:00:00Z");

// oxlint-disable-next-line typescript/no-explicit-any -- tests change documents of any shape
type Loose = Record<string, any>;

/** The example of the format with real hashes, after a change. */
function document(change: (document: Loose) => void = () => {}): Loose {
  const value = JSON.parse(EXAMPLE) as Loose;
  for (const platform of Object.values(value["source"].platforms as Loose)) platform.hash = HASH;
  value["mcp"].version = "2025-11-25";
  value["requirements"] = { mlldVersion: ">=0.5.0" };
  change(value);
  return value;
}

function parse(value: unknown, options: Partial<PackageOptions> = {}): PackageResult {
  return parsePackage(JSON.stringify(value, null, 2), "package.json", {
    mode: "strict",
    now: NOW,
    ...options,
  });
}

const short = ({ severity, path, message }: Diagnostic): string => `${severity} ${path}: ${message}`;

describe("the example of the package format", () => {
  const found = (mode: PackageOptions["mode"]): string[] =>
    parsePackage(EXAMPLE, "github-mcp.json", { mode, now: NOW }).diagnostics.map(
      ({ severity, line, column, path }) => `${severity} ${line}:${column} ${path}`,
    );

  test("has errors about its two placeholder hashes when it is published", () => {
    expect(found("strict")).toEqual([
      "warning 12:16 /mcp/version",
      "warning 85:18 /source/platforms",
      "error 88:17 /source/platforms/darwin-arm64/hash",
      "error 92:17 /source/platforms/linux-x64/hash",
    ]);
  });

  test("has only warnings as a draft", () => {
    expect(found("draft").filter((one) => one.startsWith("error"))).toEqual([]);
    expect(found("draft")).toHaveLength(4);
  });

  test("is read with every field if its hashes are real", () => {
    const { metadata, diagnostics } = parse(document());
    expect(diagnostics).toEqual([]);
    expect(metadata).toEqual(document());
  });
});

test.each<[string, (value: Loose) => void, string]>([
  ["name", (v) => (v["name"] = "@Alice/x"), '/name: name cannot be "@Alice/x"'],
  ["name without a scope", (v) => (v["name"] = "github-mcp"), "/name: name cannot be"],
  ["name with letters that look alike", (v) => (v["name"] = "@аlice/github-mcp"), "/name: name cannot be"],
  ["type", (v) => (v["type"] = "mcp"), '/type: type cannot be "mcp"'],
  ["version", (v) => (v["version"] = "1.0"), '/version: version "1.0" is not a version'],
  ["version with v", (v) => (v["version"] = "v1.0.0"), '/version: version "v1.0.0" is not a version'],
  ["description", (v) => (v["description"] = "x".repeat(200)), "/description: description is longer"],
  ["author", (v) => delete v["author"].name, "/author: name is missing in author"],
  ["author's URL", (v) => (v["author"].url = "ftp://x.example"), "is not an https URL"],
  ["mcp", (v) => delete v["mcp"], ": mcp is missing"],
  ["mcp.version", (v) => (v["mcp"].version = "2023-01-01"), "is not a supported revision of MCP"],
  [
    "transport",
    (v) => (v["mcp"].transport = ["carrier-pigeon"]),
    "/mcp/transport/0: mcp.transport[0] cannot",
  ],
  ["no transport", (v) => (v["mcp"].transport = []), "/mcp/transport: mcp.transport is empty"],
  ["executable above", (v) => (v["mcp"].executable = "../x"), "is not inside of the package"],
  ["executable that is a driver", (v) => (v["mcp"].executable = "x/DRIVER.md"), "is not a program"],
  ["absolute executable", (v) => (v["mcp"].executable = "/bin/sh"), "is not inside of the package"],
  ["executable of Windows", (v) => (v["mcp"].executable = "C:\\x"), "is not inside of the package"],
  ["executable as an option", (v) => (v["mcp"].executable = "--eval"), "is not inside of the package"],
  [
    "two tools of one name",
    (v) => v["mcp"].capabilities.tools.push({ name: "create_issue" }),
    '/mcp/capabilities/tools/2/name: mcp.capabilities.tools[2].name "create_issue" is already the name at line',
  ],
  [
    "two prompts of one name",
    (v) => (v["mcp"].capabilities.prompts = [{ name: "a" }, { name: "a" }]),
    "is already the name at line",
  ],
  [
    "parameters of no object",
    (v) => (v["mcp"].capabilities.tools[0].parameters = { type: "string" }),
    "must have type: object",
  ],
  [
    "parameters that are no schema",
    (v) => (v["mcp"].capabilities.tools[0].parameters = { type: "object", required: true }),
    "/mcp/capabilities/tools/0/parameters/required",
  ],
  [
    "parameters that are a text",
    (v) => (v["mcp"].capabilities.tools[0].parameters = "x"),
    "must be a JSON Schema",
  ],
  ["resource", (v) => (v["mcp"].capabilities.resources[0].uri = "repos"), '"repos" is not a URI'],
  [
    "settings with one variable",
    (v) => Object.assign(v["mcp"].configuration.schema.properties, { githubToken: {}, GITHUB_TOKEN: {} }),
    "uses the environment variable GITHUB_TOKEN, as github_token does",
  ],
  ["unknown setting", (v) => (v["mcp"].configuration.env = { other: "X" }), "is not a setting of the schema"],
  ["source type", (v) => (v["source"].type = "ftp"), '/source/type: source.type cannot be "ftp"'],
  ["source URL", (v) => (v["source"].url = "http://a.example/x"), "is not an https URL"],
  [
    "moving branch",
    (v) => (v["source"].url = "https://github.com/a/b/raw/main/x"),
    "points neither to a commit nor",
  ],
  [
    "range of npm",
    (v) => Object.assign(v["source"], { type: "npm", url: "npm:x@latest", platforms: {} }),
    '"latest" is not an exact version',
  ],
  ["no hash", (v) => delete v["source"].hash, "source.hash is missing"],
  ["size", (v) => (v["source"].size = 0), "/source/size: source.size must be a whole number of at least 1"],
  [
    "platform",
    (v) => (v["source"].platforms["amiga-68k"] = v["source"].platforms["linux-x64"]),
    '"amiga-68k" is not a platform',
  ],
  ["permissions", (v) => delete v["security"].permissions, "/security: permissions is missing in security"],
  ["unknown permission", (v) => v["security"].permissions.push("moon-landing"), "is not a known permission"],
  [
    "no audit",
    (v) => delete v["security"].audit,
    "must have lastReviewed, reviewer, report, because the server uses the network",
  ],
  [
    "no audit of a service",
    (v) => (v["security"] = { ...v["security"], permissions: ["github-api"], audit: undefined }),
    "because the server uses the network",
  ],
  ["audit in the future", (v) => (v["security"].audit.lastReviewed = "2027-01-01"), "is in the future"],
  ["audit without a date", (v) => (v["security"].audit.lastReviewed = "soon"), '"soon" is not a date'],
  ["report", (v) => (v["security"].audit.report = "the report"), "is not an https URL"],
  [
    "process without a sandbox",
    (v) => Object.assign(v["security"], { permissions: ["process"], sandbox: { type: "process" } }),
    "is required, because the server may start processes",
  ],
  ["sandbox type", (v) => (v["security"].sandbox.type = "chroot"), "/security/sandbox/type"],
  ["range", (v) => (v["requirements"].runtime = { node: "new" }), '"new" is not a range of versions'],
  ["os", (v) => (v["requirements"].os = ["beos"]), "/requirements/os/0"],
  ["publishing date", (v) => delete v["metadata"].publishedAt, "metadata.publishedAt is missing"],
  ["licence", (v) => delete v["metadata"].license, "metadata.license is missing"],
  ["downloads", (v) => (v["metadata"].downloads = -1), "/metadata/downloads"],
  ["homepage", (v) => (v["metadata"].homepage = "javascript:alert(1)"), "is not an https URL"],
  ["unknown key", (v) => (v["sorce"] = {}), 'unknown key "sorce"'],
])("reports an error about %s", (_, change, expected) => {
  const { metadata, diagnostics } = parse(document(change));
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  expect(metadata).toBeUndefined();
  expect(errors.map(short).join("\n")).toContain(expected);
  for (const { line, column, path } of errors) {
    expect(line).toBeGreaterThan(0);
    expect(column).toBeGreaterThan(0);
    expect(path).toBeDefined();
  }
});

test.each<[string, (value: Loose) => void]>([
  [
    "a commit of GitHub",
    (v) => (v["source"].url = `https://codeload.github.com/a/b/tar.gz/${"a".repeat(40)}`),
  ],
  [
    "a gist",
    (v) =>
      Object.assign(v["source"], {
        type: "gist",
        url: `https://gist.githubusercontent.com/a/b/raw/${"0".repeat(40)}/x.js`,
        platforms: {},
      }),
  ],
  [
    "a package of npm",
    (v) => Object.assign(v["source"], { type: "npm", url: "npm:@a/b@1.0.0", platforms: {} }),
  ],
  ["hexadecimal hashes", (v) => (v["source"].hash = "a".repeat(64))],
  ["advisories in both forms", (v) => (v["security"].vulnerabilities = ["CVE-2026-1", { id: "X" }])],
  ["the author's own keys", (v) => (v["x-note"] = { any: "thing" })],
  ["resource templates", (v) => (v["mcp"].capabilities.resources[0].uri = "github://{owner}/{+path}")],
  ["no permissions, no audit", (v) => (v["security"] = { permissions: [] })],
])("accepts %s", (_, change) => {
  expect(parse(document(change)).diagnostics).toEqual([]);
});

test("a draft can omit the fields that a person or a registry adds later", () => {
  const change = (value: Loose): void => {
    delete value["source"].hash;
    delete value["security"].audit;
    delete value["metadata"].publishedAt;
    value["security"].permissions.push("process", "moon-landing");
    delete value["security"].sandbox;
  };
  const draft = parse(document(change), { mode: "draft" });
  expect(draft.metadata).toBeDefined();
  expect(draft.diagnostics.map(({ severity }) => severity)).toEqual(
    Array.from({ length: 5 }, () => "warning"),
  );
  expect(parse(document(change)).diagnostics.filter(({ severity }) => severity === "error")).toHaveLength(5);
});

test("a host can define further permissions", () => {
  const change = (value: Loose): void => void value["security"].permissions.push("moon-landing");
  expect(parse(document(change), { permissions: ["moon-landing"] }).diagnostics).toEqual([]);
});

test("all errors of a document are reported at once", () => {
  const { diagnostics } = parse({ type: "x", version: "y", mcp: {}, source: {}, security: {}, metadata: {} });
  expect(diagnostics.filter(({ severity }) => severity === "error").length).toBeGreaterThan(12);
});

test("any JSON is read without an exception, and a JSON syntax error has a position", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => void parse(value)),
    { numRuns: 200 },
  );
  fc.assert(
    fc.property(
      fc.constantFrom("name", "mcp", "source", "security", "metadata", "requirements"),
      fc.jsonValue(),
      (key, value) => void parse(document((whole) => (whole[key] = value))),
    ),
    { numRuns: 300 },
  );
  expect(parsePackage('{ "name": ', "p.json", { mode: "strict" }).diagnostics[0]).toMatchObject({ line: 1 });
});

test.each([
  ["github_token", "GITHUB_TOKEN"],
  ["apiUrl", "API_URL"],
  ["api.url", "API_URL"],
  ["valueOf", "VALUE_OF"],
])("the setting %s is passed as the environment variable %s", (setting, variable) => {
  expect(variableOf(setting)).toBe(variable);
  expect(variableOf(setting, { [setting]: "OWN" })).toBe("OWN");
});

test("looksLikePackage recognizes a package by its type", () => {
  expect(looksLikePackage(document())).toBe(true);
  expect(looksLikePackage({ type: "mcp-server" })).toBe(false);
  expect(looksLikePackage({ name: "x", version: "1.0.0" })).toBe(false);
});

// PORTOLAN_WRITE_SCHEMAS=1 npx vitest run src/formats/package/read.test.ts && npx oxfmt schemas
test("schemas/package.schema.json equals the generated JSON Schema, and accepts the example", async () => {
  const url = new URL("../../../schemas/package.schema.json", import.meta.url);
  const schema = toJsonSchemaDocument(PACKAGE, "MCP server package");
  if (process.env.PORTOLAN_WRITE_SCHEMAS === "1") writeFileSync(url, `${JSON.stringify(schema, null, 2)}\n`);
  expect(JSON.parse(readFileSync(url, "utf8"))).toEqual(schema);
  const validator = await createValidator(schema, { budgetMs: 20_000 });
  expect(validator.check(document()).valid).toBe(true);
  expect(validator.check(document((value) => delete value["source"])).valid).toBe(false);
});
