// Packing: facts of servers, the archive, and documents with edits of a person.

import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { unpackTar } from "modern-tar";
import { expect, onTestFinished, test } from "vitest";
import { parseDriver } from "../../formats/driver/index.ts";
import { parseMcpfile } from "../../formats/mcpfile/index.ts";
import { packageTemplate, parsePackage, variableOf } from "../../formats/package/index.ts";
import type { JsonObject } from "../../model/index.ts";
import { packArchive } from "./archive.ts";
import { packDocument } from "./document.ts";
import { type PackageFacts, toCapabilities, toModule } from "./facts.ts";
import { factsOfDriver } from "./from-driver.ts";
import { factsOfMcpfile } from "./from-mcpfile.ts";
import { factsOfNpm } from "./from-npm.ts";

const SEED = new URL("../../../test/fixtures/mcpfiles/seed.yaml", import.meta.url);
const HASH = "sha256-Qw1bHtLNfhLjfW5V7HgqTB3G6HgpTbSjs8yH4rPkLJI=";
const SOURCE = { type: "binary", hash: HASH, size: 10 } as const;

function factsOf(name: string): PackageFacts {
  const server = parseMcpfile(readFileSync(SEED, "utf8"), "seed.yaml").servers.find(
    ({ info }) => info.name === name,
  );
  if (server === undefined) throw new Error(`no server ${name}`);
  const facts = factsOfMcpfile(server, { file: "seed.yaml", isOneOfSeveral: true, variables: [] });
  return { ...facts, source: SOURCE };
}

const errors = (text: string): string[] =>
  parsePackage(text, "mcp-package.json", {
    mode: "strict",
    setLater: ["publishedAt", "url"],
  }).diagnostics.flatMap(({ severity, path, line, message }) =>
    severity === "error" ? [`${path} ${line === undefined ? "?" : ""}${message}`] : [],
  );

const PERSON = {
  description: "A service",
  author: { name: "Alice" },
  metadata: { license: "MIT" },
};

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "portolan-pack-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

test("an HTTP request needs an audit, and a command needs a sandbox, until a person supplies them", () => {
  const user = packDocument(factsOf("user-service"), { name: "@alice/user-service" }).text;
  const value: JsonObject = { ...(JSON.parse(user) as JsonObject), ...PERSON };
  expect(value["security"]).toEqual({ permissions: ["network"] });
  expect(errors(JSON.stringify(value))).toEqual([
    expect.stringContaining("security.audit must have lastReviewed, reviewer, report") as string,
  ]);
  const audit = { lastReviewed: "2026-01-15", reviewer: "@team", report: "https://example.com/report" };
  expect(errors(JSON.stringify({ ...value, security: { permissions: ["network"], audit } }))).toEqual([]);

  const git = {
    ...(JSON.parse(packDocument(factsOf("git-tools"), { name: "@alice/git-tools" }).text) as JsonObject),
    ...PERSON,
  };
  expect(git).toMatchObject({
    version: "1.0.0",
    mcp: { executable: "seed.yaml", args: ["git-tools"], capabilities: { tools: [{ name: "clone_repo" }] } },
    source: SOURCE,
    security: { permissions: ["process"] },
  });
  expect(errors(JSON.stringify(git))).toEqual([
    expect.stringContaining("security.sandbox is required") as string,
  ]);
  const sandbox = { required: true, type: "process" };
  expect(errors(JSON.stringify({ ...git, security: { permissions: ["process"], sandbox } }))).toEqual([]);
});

test("a new document names the places that a person must fill in", () => {
  expect(errors(packDocument(factsOf("git-tools"), {}).text)).toEqual([
    "/name name is empty",
    "/description description is empty",
    "/author/name author.name is empty",
    expect.stringContaining("/security security.sandbox is required") as string,
    "/metadata metadata.license is missing",
  ]);
});

test("packing again keeps edits and comments, updates derived fields, and lists each of them", () => {
  const before = packDocument(
    { ...factsOf("git-tools"), variables: ["API_TOKEN"] },
    { name: "@alice/git" },
  ).text;
  const edited = before
    .replace('"description": ""', '"description": /* a comment */ "Mine"')
    .replace('"secret": true', '"secret": false, "default": "x"')
    .replace('"process"', '"process", "github-api"');
  const facts: PackageFacts = {
    ...factsOf("git-tools"),
    version: "1.1.0",
    description: "Theirs",
    variables: ["API_TOKEN", "other_Name"],
    permissions: ["network", "process"],
  };
  const { text, changes } = packDocument(facts, { before: { text: edited, file: "mcp-package.json" } });
  expect(text).toContain('"description": /* a comment */ "Mine"');
  const { draft } = parsePackage(text, "mcp-package.json", { mode: "draft" });
  expect(draft).toMatchObject({
    name: "@alice/git",
    version: "1.1.0",
    description: "Mine",
    security: { permissions: ["process", "github-api", "network"] },
    mcp: {
      configuration: {
        schema: {
          properties: {
            api_token: { secret: false, default: "x" },
            other_name: { type: "string", secret: true },
          },
          required: ["api_token", "other_name"],
        },
        env: { other_name: "other_Name" },
      },
    },
  });
  expect(changes.map(({ field, kind }) => `${kind} ${field}`)).toEqual([
    "updated version",
    "kept description",
    "updated security.permissions",
    "added mcp.configuration.schema.properties.other_name",
    "added mcp.configuration.schema.required",
    "added mcp.configuration.env.other_name",
  ]);
  const again = packDocument(facts, { before: { text, file: "mcp-package.json" } });
  expect(again.text).toBe(text);
});

test("the commented template is filled in, and an invalid document is an error", () => {
  const { text } = packDocument(factsOf("git-tools"), {
    before: { text: packageTemplate("@a/b"), file: "x.jsonc" },
  });
  expect(text).toContain("// Description of the server");
  expect(parsePackage(text, "x.jsonc", { mode: "draft" }).draft).toMatchObject({
    name: "@a/b",
    version: "1.0.0",
    mcp: { executable: "seed.yaml" },
    source: SOURCE,
  });
  expect(() =>
    packDocument(factsOf("git-tools"), { before: { text: '{\n "a" 1 }', file: "x.json" } }),
  ).toThrow(
    expect.objectContaining({
      code: "FILE_INVALID",
      message: expect.stringMatching(/^x\.json:2:/) as string,
    }),
  );
});

test("the bytes of an archive depend on names and contents only", async () => {
  const make = (time: number): string => {
    const place = folder();
    mkdirSync(join(place, "bin"));
    writeFileSync(join(place, "mcpfile.yaml"), "a: 1\n");
    writeFileSync(join(place, "bin", "run.sh"), "#!/bin/sh\n");
    chmodSync(join(place, "bin", "run.sh"), 0o700);
    utimesSync(join(place, "mcpfile.yaml"), time, time);
    return place;
  };
  const one = await packArchive(make(1_000), ["mcpfile.yaml", "bin/run.sh"]);
  const two = await packArchive(make(2_000_000), ["bin/run.sh", "mcpfile.yaml", "./mcpfile.yaml"]);
  expect(two.hash).toBe(one.hash);
  expect(one.size).toBe(one.bytes.length);
  const entries = await unpackTar(new Uint8Array(one.bytes));
  expect(entries.map(({ header: { name, mode } }) => [name, mode])).toEqual([
    ["bin/run.sh", 0o755],
    ["mcpfile.yaml", 0o644],
  ]);
});

test("an archive has no file from outside of its folder", async () => {
  const place = folder();
  const other = folder();
  writeFileSync(join(other, "secret"), "x");
  symlinkSync(join(other, "secret"), join(place, "link"));
  for (const path of ["../x", "link", join(other, "secret"), "."])
    await expect(packArchive(place, [path])).rejects.toMatchObject({ code: "FILE_FAILED" });
  await expect(packArchive(place, ["link"])).rejects.toMatchObject({
    hint: expect.stringMatching(
      /repeat it for each file\. An archive can have at most 2000 files and 64 MiB\.$/,
    ) as string,
  });
});

test("factsOfDriver() returns the npm server, the bound tools and the secrets of a driver", () => {
  const text = `---
id: tracker-mcp
name: Tracker
description: Issues of a tracker.
version: 1.2.0
kind: mcp
transport: stdio
server:
  kind: npm
  package: tracker-server@2.0.0
  env:
    TRACKER_TOKEN: "\${secrets.TRACKER_TOKEN}"
sandbox:
  network: { egress: [tracker.example] }
implements:
  - tool: create-issue
    version: "^1"
    metadata: { mcp: { tool_name: issue_create } }
---
`;
  const { driver, diagnostics } = parseDriver(text, "/x/DRIVER.md");
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  if (driver?.server.kind !== "npm") throw new Error("no npm package");
  const manifest = { name: "tracker-server", version: "2.0.0", license: "MIT", bin: "x.js" };
  const npm = factsOfNpm({ manifest, hash: HASH, size: 5 });
  const files = { "DRIVER.md": text };
  expect(factsOfDriver({ ...driver, server: driver.server }, npm, files)).toMatchObject({
    module: "tracker-mcp",
    version: "1.2.0",
    mcp: {
      executable: "tracker-server",
      driver: files,
      transport: ["stdio"],
      capabilities: { tools: [{ name: "issue_create" }] },
    },
    variables: ["TRACKER_TOKEN"],
    permissions: ["network"],
    source: { type: "npm", url: "npm:tracker-server@2.0.0", hash: HASH },
    metadata: { license: "MIT" },
  });
});

test("a package.json with any content gives a valid JSON document", () => {
  const facts = factsOfNpm({
    manifest: {
      ...{ name: "@x/some-server", version: "1.2.3", description: "A server", license: "MIT" },
      ...{
        author: "Alice <alice@example.com> (https://alice.dev)",
        bin: { "some-server": "x.js", other: "y.js" },
      },
      ...{
        repository: { url: "git+https://github.com/x/y.git" },
        bugs: "http://plain.example",
        engines: { node: ">=20" },
      },
    },
    hash: HASH,
    size: 5,
    capabilities: {},
  });
  expect(facts).toMatchObject({
    module: "some-server",
    author: { name: "Alice", email: "alice@example.com", url: "https://alice.dev" },
    mcp: { executable: "some-server" },
    source: { type: "npm", url: "npm:@x/some-server@1.2.3" },
    requirements: { runtime: { node: ">=20" } },
    metadata: { license: "MIT", repository: "https://github.com/x/y" },
  });
  expect(facts.metadata).not.toHaveProperty("bugs");
  fc.assert(
    fc.property(fc.jsonValue(), (manifest) => {
      const { text } = packDocument(factsOfNpm({ manifest, hash: HASH, size: 5 }), {});
      expect(JSON.parse(text)).toBeTypeOf("object");
    }),
  );
});

test("any server name becomes a valid module name, and any variable gets a setting", () => {
  const facts = factsOf("git-tools");
  fc.assert(fc.property(fc.string(), (name) => /^[a-z0-9][a-z0-9-]*$/.test(toModule(name))));
  expect(["Git Tools", "@x/gitTools_v2", "–"].map(toModule)).toEqual(["git-tools", "git-tools-v2", "server"]);
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,12}$/), { maxLength: 5 }),
      (variables) => {
        const { text } = packDocument({ ...facts, variables }, { name: "@a/b" });
        const { schema, env } =
          (
            JSON.parse(text) as {
              mcp: { configuration?: { schema?: JsonObject; env?: Record<string, string> } };
            }
          ).mcp.configuration ?? {};
        const settings = Object.keys(schema?.["properties"] ?? {});
        expect(settings.map((setting) => variableOf(setting, env)).sort()).toEqual([...variables].sort());
      },
    ),
  );
});

test("capabilities are sorted, and URI templates become patterns", () => {
  const tool = (name: string): { name: string; inputSchema: { type: "object" } } => ({
    name,
    inputSchema: { type: "object" },
  });
  expect(
    toCapabilities({
      tools: [tool("b"), tool("a")],
      resourceTemplates: [{ name: "r", uriTemplate: "repo://{owner}/{name}/file{?ref}" }],
      prompts: [{ name: "p", arguments: [{ name: "x", required: true }] }],
    }),
  ).toEqual({
    tools: [
      { name: "a", parameters: { type: "object" } },
      { name: "b", parameters: { type: "object" } },
    ],
    resources: [{ uri: "repo://*" }],
    prompts: [{ name: "p", arguments: [{ name: "x", required: true }] }],
  });
});
