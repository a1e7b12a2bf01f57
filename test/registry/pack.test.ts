// From an mcpfile to a package of a registry: packed, completed by a person, published, exported and starred.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { envelope, fixture, portolan, type Ran, temporaryFolder } from "../helpers/cli.ts";
import { type Loose, startRegistry } from "../helpers/registry.ts";

const SEED = fileURLToPath(new URL("../fixtures/mcpfiles/seed.yaml", import.meta.url));
const json = (ran: Ran): Loose => {
  expect({ code: ran.code, err: ran.code === 0 ? "" : ran.err }).toEqual({ code: 0, err: "" });
  return JSON.parse(ran.out) as Loose;
};

it("an mcpfile is packed, completed, published with its archive, exported and starred", async () => {
  const registry = await startRegistry();
  const { folder, run } = registry;
  writeFileSync(join(folder, "mcpfile.yaml"), readFileSync(SEED));
  const pack = (...words: string[]): Promise<Ran> => run("pack", "mcpfile.yaml", "git-tools", ...words);
  expect(envelope(await run("pack", "mcpfile.yaml")).hint).toContain("portolan pack mcpfile.yaml git-tools");
  mkdirSync(join(folder, "my tools"));
  writeFileSync(join(folder, "my tools", "mcpfile.yaml"), readFileSync(SEED));
  expect(envelope(await run("pack", "my tools/mcpfile.yaml")).hint).toContain(
    "portolan pack 'my tools/mcpfile.yaml' git-tools",
  );

  const first = json(await pack("--name", "@alice/git-tools"));
  expect(first).toMatchObject({ isNew: true, isReady: false, archive: { files: ["mcpfile.yaml"] } });
  expect(first["missing"].map(({ path }: Loose) => path)).toEqual([
    "/description",
    "/author/name",
    "/security",
    "/metadata",
  ]);
  const file = join(folder, "mcp-package.json");
  expect(envelope(await run("publish")).message).toContain("security.sandbox is required");

  const document = JSON.parse(readFileSync(file, "utf8")) as Loose;
  document["description"] = "Git for agents";
  document["author"].name = "Alice";
  document["security"].sandbox = { required: true, type: "process" };
  document["metadata"].license = "MIT";
  writeFileSync(file, JSON.stringify(document, null, 2));
  expect(json(await run("validate", "mcp-package.json"))).toMatchObject({
    valid: true,
    files: [{ format: "package" }],
  });
  expect(json(await pack("--check"))).toMatchObject({ isCurrent: true, isReady: true, changes: [] });

  const published = json(await run("publish"));
  expect(published).toMatchObject({ name: "@alice/git-tools", version: "1.0.0", files: [first["hash"]] });
  const found = json(await run("info", "@alice/git-tools"));
  expect(found["metadata"].source.url).toBe(found["files"][first["hash"]]);
  const hosted = Buffer.from(await (await fetch(found["metadata"].source.url as string)).arrayBuffer());
  expect(hosted).toEqual(readFileSync(join(folder, "git-tools-1.0.0.tar")));
  // The document of the author stays without the URL of one registry.
  expect(readFileSync(file, "utf8")).not.toContain(registry.url);

  const hex = Buffer.from((first["hash"] as string).slice("sha256-".length), "base64").toString("hex");
  expect(json(await run("info", `@alice/git-tools@${hex.slice(0, 12)}`))["version"]).toBe("1.0.0");
  expect(json(await run("star", "@alice/git-tools"))["stars"]).toBe(1);
  expect(json(await run("star", "@alice/git-tools", "--undo"))["stars"]).toBe(0);

  const site = join(folder, "site");
  const exporting = ["registry", "export", site, "--folder", registry.registry, "--json"];
  expect(json(await run(...exporting))).toMatchObject({ copied: 2 });
  expect(json(await run(...exporting))).toMatchObject({ copied: 0 });
  expect(readdirSync(site).sort()).toEqual(["files", "index.jsonl", "versions"]);
  expect(json(await run("info", "@alice/git-tools", "--registry", site))["version"]).toBe("1.0.0");
});

it("pack updates the document of a changed server, and --check reports the change without writing", async () => {
  const folder = temporaryFolder();
  const run = (...words: string[]): Promise<Ran> => portolan(words, { cwd: folder });
  const text = readFileSync(SEED, "utf8");
  writeFileSync(join(folder, "mcpfile.yaml"), text);
  expect(json(await run("init", "package"))["next"]).toHaveLength(3);
  expect(envelope(await run("init", "package")).message).toContain("exists already");
  expect((await run("init", "package", "other/", "--text")).out).toMatch(
    /^other\/mcp-package\.jsonc was written/,
  );
  json(await run("pack", "mcpfile.yaml", "user-service"));
  const file = join(folder, "mcp-package.jsonc");
  writeFileSync(file, readFileSync(file, "utf8").replace('"description": ""', '"description": "Mine"'));
  writeFileSync(
    join(folder, "mcpfile.yaml"),
    text.replace("2.1.0", "2.2.0").replace("get_user", "find_user"),
  );
  const before = readFileSync(file, "utf8");
  const checked = await run("pack", "mcpfile.yaml", "user-service", "--check");
  expect(checked.code).toBe(1);
  expect(readFileSync(file, "utf8")).toBe(before);
  expect(readdirSync(folder)).not.toContain("user-service-2.2.0.tar");
  const { changes, missing } = json(await run("pack", "mcpfile.yaml", "user-service"));
  expect(changes.map(({ field, kind }: Loose) => `${kind} ${field}`)).toEqual([
    "updated version",
    "kept mcp.version",
    "updated mcp.capabilities.tools",
    "updated source.hash",
  ]);
  expect(missing.map(({ message }: Loose) => message).join("\n")).toContain("security.audit must have");
  const after = readFileSync(file, "utf8");
  expect(after).toContain('"description": "Mine"');
  expect(after).toContain("// Description of the server");
});

it("pack reads the tools of a running server, and refuses a broken mcpfile", async () => {
  const folder = temporaryFolder();
  const live = json(await portolan(["pack", fixture(), "--json"], { cwd: folder }));
  expect(live).toMatchObject({ isNew: true, isReady: false });
  const document = JSON.parse(readFileSync(join(folder, "mcp-package.json"), "utf8")) as Loose;
  expect(document["mcp"].capabilities.tools.length).toBeGreaterThan(0);
  expect(live["missing"].map(({ path }: Loose) => path)).toContain("/mcp/executable");
  writeFileSync(join(folder, "mcpfile.yaml"), "kind: MCPToolDefinitions\n");
  const broken = await portolan(["pack", "mcpfile.yaml", "--json"], { cwd: folder });
  expect(envelope(broken).code).toBe("FILE_INVALID");
});

it("pack refuses a second target", async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "one"));
  writeFileSync(join(folder, "one", "package.json"), "{}");
  writeFileSync(join(folder, "portolan.yaml"), "version: 1\nservers: { files: { command: node } }\n");
  for (const words of [
    ["a@1.0.0", "b@1.0.0"],
    ["one", "two"],
    ["files", "two"],
    ["mcpfile.yaml", "one", "two"],
  ]) {
    const { code, message } = envelope(await portolan(["pack", ...words, "--json"], { cwd: folder }));
    expect({ code, message }).toEqual({
      code: "USAGE",
      message: `portolan pack takes one target; unexpected argument ${JSON.stringify(words.at(-1))}.`,
    });
  }
});
