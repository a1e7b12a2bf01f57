// Servers from MCPB bundles: approved by the hash of the file, started from the store, and refused if the file is another one.

import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type LockedPackage, readBundle, renderLock } from "../../src/packages/index.ts";
import { makeZip } from "../fixtures/lib/zip.mjs";
import { envelope, portolan, type Ran, resultText } from "../helpers/cli.ts";
import { packageFolder, SERVER_SCRIPT, sri, startFileServer } from "../helpers/packages.ts";

const MANIFEST = {
  manifest_version: "0.3",
  name: "tiny",
  version: "1.2.0",
  description: "A small server.",
  author: { name: "Alice" },
  server: {
    type: "node",
    entry_point: "server/index.js",
    mcp_config: {
      command: "node",
      args: ["${__dirname}/server/index.js", "${user_config.folders}"],
      env: { API_URL: "${user_config.api_url}" },
    },
  },
  user_config: {
    folders: { type: "directory", title: "Folders", description: "Folders.", multiple: true, required: true },
    api_url: { type: "string", title: "URL", description: "A URL.", default: "https://api.example.com" },
  },
};

const manifest = JSON.stringify(MANIFEST);
const bundle = (changes: Record<string, string> = {}): Buffer =>
  makeZip(
    Object.entries({ "manifest.json": manifest, "server/index.js": SERVER_SCRIPT, ...changes }).map(
      ([path, body]) => ({ path, body }),
    ),
  );

const inWorkspace = (folder: string, ...words: string[]): Promise<Ran> =>
  portolan(words, { cwd: folder, env: { XDG_DATA_HOME: join(folder, "data") } });

function writeWorkspace(folder: string, location: string, change: Partial<LockedPackage> = {}): void {
  const locked: LockedPackage = {
    name: "tiny",
    version: "1.2.0",
    source: `mcpb:${location}`,
    integrity: sri(bundle()),
    metadata: sri(manifest),
    ...change,
  };
  writeFileSync(
    join(folder, "portolan.yaml"),
    `servers:\n  tiny:\n    package: "mcpb:${location}"\n    env: { FOLDERS: '["/a", "/b"]' }\n`,
  );
  writeFileSync(
    join(folder, "portolan.lock"),
    renderLock({ lockfileVersion: 1, servers: { tiny: { package: locked } } }),
  );
}

it("a bundle is read, and its server starts with its settings", async () => {
  const folder = packageFolder();
  writeFileSync(join(folder, "tiny.mcpb"), bundle());
  const read = await readBundle("./tiny.mcpb", { folder });
  expect(read).toMatchObject({ integrity: sri(bundle()), signature: { state: "unsigned" } });
  expect(read.document.toString()).toBe(manifest);
  writeWorkspace(folder, "./tiny.mcpb");
  const called = await inWorkspace(folder, "call", "tiny.echo", "--json");
  expect(JSON.parse(resultText(called))).toEqual({ args: ["/a", "/b"], url: "https://api.example.com" });
  const plan = await inWorkspace(folder, "why", "--plan", "tiny", "--text");
  expect(plan.out).toContain("tiny@1.2.0 (mcpb:./tiny.mcpb sha256-");
});

it("a bundle of a URL is fetched once: it is approved and installed from the same bytes", async () => {
  const folder = packageFolder();
  const files = await startFileServer();
  const url = files.serve("/tiny.mcpb", bundle());
  const root = join(folder, "data", "portolan", "store");
  mkdirSync(root, { recursive: true });
  expect((await readBundle(url, { folder, root })).manifest.name).toBe("tiny");
  writeWorkspace(folder, url);
  expect((await inWorkspace(folder, "install", "--frozen", "--json")).code).toBe(0);
  expect(files.requests).toEqual(["GET /tiny.mcpb"]);
});

it.each<[string, (folder: string) => void, RegExp]>([
  [
    "other bytes",
    (folder) => writeFileSync(join(folder, "tiny.mcpb"), bundle({ "server/index.js": "evil" })),
    /its hash is/,
  ],
  ["bytes behind it", (folder) => appendFileSync(join(folder, "tiny.mcpb"), "more"), /its hash is/],
  [
    "another manifest in the lock",
    (folder) => writeWorkspace(folder, "./tiny.mcpb", { metadata: sri("x") }),
    /its hash differs/,
  ],
  [
    "another version in the lock",
    (folder) => writeWorkspace(folder, "./tiny.mcpb", { version: "1.3.0" }),
    /^The version of .* in portolan\.lock differs from the version in its metadata/,
  ],
  [
    "another file in the lock",
    (folder) => writeWorkspace(folder, "./tiny.mcpb", { source: "mcpb:./x.mcpb" }),
    /portolan.lock has mcpb:.\/x.mcpb/,
  ],
  [
    "a missing setting",
    (folder) =>
      writeFileSync(join(folder, "portolan.yaml"), 'servers:\n  tiny:\n    package: "mcpb:./tiny.mcpb"\n'),
    /setting folders is missing/i,
  ],
])("a start is refused: %s", async (_, change, message) => {
  const folder = packageFolder();
  writeFileSync(join(folder, "tiny.mcpb"), bundle());
  writeWorkspace(folder, "./tiny.mcpb");
  change(folder);
  expect(envelope(await inWorkspace(folder, "call", "tiny.echo", "--json")).message).toMatch(message);
});

it.each<[string, Buffer, RegExp]>([
  ["no zip", Buffer.from("nothing"), /central directory|zip/i],
  ["no manifest", makeZip([{ path: "x", body: "x" }]), /has no manifest.json/],
  [
    "two manifests",
    makeZip([
      { path: "manifest.json", body: manifest },
      { path: "manifest.json", body: "{}" },
    ]),
    /twice/,
  ],
  [
    "a manifest with errors",
    makeZip([{ path: "manifest.json", body: '{"manifest_version":"0.3"}' }]),
    /is missing/,
  ],
  ["a path upwards", bundle({ "../evil.js": "x" }), /invalid relative path/],
  ["a damaged signature", Buffer.concat([bundle(), Buffer.from("MCPB_SIG_V1xxxxMCPB_SIG_END")]), /signature/],
])("a file is refused as a bundle: %s", async (_, bytes, message) => {
  const folder = packageFolder();
  writeFileSync(join(folder, "x.mcpb"), bytes);
  await expect(readBundle("x.mcpb", { folder })).rejects.toThrow(message);
});
