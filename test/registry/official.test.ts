// Servers of a registry with the official MCP registry API: added as npm package, bundle or URL. Real processes, and real sockets.

import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startHttpServer } from "../fixtures/http-server.mjs";
import { makeZip } from "../fixtures/lib/zip.mjs";
import { startRegistry as startNpm } from "../fixtures/npm-registry.mjs";
import { envelope, portolan, type Ran, resultText, temporaryFolder } from "../helpers/cli.ts";
import { needs } from "../helpers/needs.ts";
import { filePackage, SERVER_SCRIPT, sri, startFileServer } from "../helpers/packages.ts";
import { type Loose, startRegistry } from "../helpers/registry.ts";

const NAME = "io.github.alice/notes";
const OFFICIAL = "io.modelcontextprotocol.registry/official";
const SECRET = "of-the-test-4711";

const json = (ran: Ran): Loose => {
  expect({ code: ran.code, err: ran.code === 0 ? "" : ran.err }).toEqual({ code: 0, err: "" });
  return JSON.parse(ran.out) as Loose;
};

const MANIFEST = {
  ...{ manifest_version: "0.3", name: "tiny", version: "1.2.0", description: "A small server." },
  author: { name: "Alice" },
  server: {
    type: "node",
    entry_point: "index.js",
    mcp_config: { command: "node", args: ["${__dirname}/index.js"], env: {} },
  },
};
const BUNDLE = makeZip(
  Object.entries({ "manifest.json": JSON.stringify(MANIFEST), "index.js": SERVER_SCRIPT }).map(
    ([path, body]) => ({ path, body }),
  ),
);
const hex = (bytes: Buffer): string =>
  Buffer.from(sri(bytes).slice("sha256-".length), "base64").toString("hex");

function user(env: Readonly<Record<string, string>> = {}) {
  const top = temporaryFolder();
  const cwd = join(top, "workspace");
  for (const folder of [cwd, join(top, "home")]) mkdirSync(folder);
  writeFileSync(join(top, "passphrase"), "of the test\n", { mode: 0o600 });
  const all = {
    HOME: join(top, "home"),
    XDG_DATA_HOME: join(top, "data"),
    XDG_CACHE_HOME: join(top, "cache"),
    PORTOLAN_SANDBOX: "off",
    PORTOLAN_VAULT_PASSPHRASE_FILE: join(top, "passphrase"),
    DBUS_SESSION_BUS_ADDRESS: "unix:path=/nowhere",
    npm_config_fetch_retries: "0",
    ...env,
  };
  const file = (name: string): string => join(cwd, name);
  return {
    file,
    run: (...words: string[]): Promise<Ran> => portolan(words, { cwd, env: all }),
    read: (name: string): string => (existsSync(file(name)) ? readFileSync(file(name), "utf8") : ""),
  };
}

/** A registry that lists these documents of one server; the last one is the latest. */
async function startOfficial(...versions: { readonly server: Loose; readonly status?: string }[]) {
  const web = await startFileServer();
  const entries = versions.map(({ server, status = "active" }, index) => ({
    server: {
      $schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
      ...{ name: NAME, description: "Reads notes.", version: "1.2.0" },
      repository: { url: "https://github.com/alice/notes", source: "github" },
      ...server,
    },
    _meta: {
      [OFFICIAL]: {
        ...{ status, statusMessage: status === "active" ? undefined : "Use io.github.alice/notes2." },
        ...{ publishedAt: "2026-01-15T10:00:00Z", isLatest: index === versions.length - 1 },
      },
    },
  }));
  const path = `/v0.1/servers/${encodeURIComponent(NAME)}/versions`;
  for (const entry of entries) {
    web.serve(`${path}/${entry.server.version}`, JSON.stringify(entry));
    web.serve(`${path}/latest`, JSON.stringify(entry));
  }
  web.serve(path, JSON.stringify({ servers: entries, metadata: { count: entries.length } }));
  return web;
}

it("an npm package is configured, locked with its hash, called, and updated within its range", async () => {
  const npm = await startNpm();
  onTestFinished(() => npm.close());
  const release = (version: string): { server: Loose } => {
    npm.publish({
      name: "@alice/notes",
      version,
      bin: "index.js",
      files: { "index.js": `#!/usr/bin/env node\n${SERVER_SCRIPT}` },
    });
    const server = {
      version,
      packages: [
        {
          ...{ registryType: "npm", identifier: "@alice/notes", version, transport: { type: "stdio" } },
          packageArguments: [
            { type: "positional", value: "serve" },
            { type: "named", name: "--token", isRequired: true, isSecret: true },
          ],
          environmentVariables: [{ name: "API_URL", default: "https://api.example.com" }],
        },
      ],
      remotes: [{ type: "sse", url: "https://notes.example.com/sse" }],
    };
    return { server };
  };
  const web = await startOfficial(release("1.2.0"));
  const { run, read, file } = user({ npm_config_registry: npm.url });
  writeFileSync(
    file("portolan.yaml"),
    JSON.stringify({ registries: [{ url: web.url, api: "official" }], servers: {} }),
  );
  writeFileSync(file("values.json"), JSON.stringify({ token: SECRET }));

  const asked = await run("add", NAME, "--text");
  expect(asked.code).toBe(2);
  expect(asked.err).toContain("npm @alice/notes@1.2.0 serve --token <token>");
  expect(asked.err).toContain("also: remote; choose with --from");
  expect(asked.err).toContain("this package format does not declare permissions, so Portolan grants none");
  expect(asked.err).toContain(
    "not checked, because the API of the official MCP registry does not publish advisories",
  );
  expect(asked.err).toContain(`portolan add ${NAME}@1.2.0 --yes --allow none`);
  expect(read("portolan.lock")).toBe("");

  const added = json(
    await run("add", `${NAME}@^1.0.0`, "--yes", "--allow", "none", "--config-file", "values.json"),
  );
  expect(added).toMatchObject({
    server: "notes",
    package: { name: NAME, version: "1.2.0" },
    tools: { pinned: ["echo"] },
  });
  expect(read("portolan.yaml")).toContain(`${NAME}@^1.0.0`);
  expect(read("portolan.yaml") + read("portolan.lock")).not.toContain(SECRET);
  const { package: locked } = (JSON.parse(read("portolan.lock")) as Loose)["servers"].notes as Loose;
  expect(locked).toMatchObject({
    ...{ name: NAME, version: "1.2.0", source: "npm:@alice/notes@1.2.0", registry: web.url, permissions: [] },
    integrity: sri(npm.tarballOf("@alice/notes", "1.2.0"), "sha512"),
  });
  expect(JSON.parse(resultText(await run("call", "notes.echo")))).toEqual({
    // The server got the secret as an argument; Portolan hides it in results.
    args: ["serve", "--token", "[redacted]"],
    url: "https://api.example.com",
  });
  expect((await run("install", "--frozen")).code).toBe(0);

  const next = await startOfficial(release("1.2.0"), release("1.3.0"));
  const updated = json(await run("update", "--yes", "--registry", next.url))["servers"] as Loose[];
  expect(updated).toMatchObject([{ state: "updated", difference: { from: "1.2.0", to: "1.3.0" } }]);
  expect((await run("audit")).code).toBe(0);
});

it("a bundle must have the hash of the document; a deprecated server is added, a deleted one refused", async () => {
  const files = await startFileServer();
  const source = files.serve("/notes.mcpb", BUNDLE);
  const server = (fileSha256: string): Loose => ({
    packages: [
      { registryType: "mcpb", identifier: source, fileSha256, transport: { type: "stdio" } },
      { registryType: "nuget", identifier: "Notes", version: "1.2.0", transport: { type: "stdio" } },
    ],
  });
  const accept = ["--yes", "--allow", "none"];
  const { run, read } = user();
  const wrong = await startOfficial({ server: server("0".repeat(64)) });
  expect(envelope(await run("add", NAME, ...accept, "--registry", wrong.url))).toMatchObject({
    code: "FORBIDDEN",
    data: { reason: "HASH_MISMATCH" },
  });
  const deleted = await startOfficial({ server: server(hex(BUNDLE)), status: "deleted" });
  expect(envelope(await run("add", NAME, ...accept, "--registry", deleted.url)).message).toContain(
    `${NAME}@1.2.0 was deleted from the registry ${deleted.url}: Use io.github.alice/notes2.`,
  );
  const old = await startOfficial({ server: server(hex(BUNDLE)), status: "deprecated" });
  const from = await run("add", NAME, ...accept, "--registry", old.url, "--from", "oci");
  expect(envelope(from).message).toContain("has no oci form that Portolan can use on this machine");
  expect(envelope(await run("add", NAME, ...accept, "--registry", old.url, "--from", "gem")).code).toBe(
    "USAGE",
  );
  expect(read("portolan.yaml") + read("portolan.lock")).toBe("");

  const added = await run("add", NAME, ...accept, "--registry", old.url, "--text");
  expect(added).toMatchObject({ code: 0 });
  expect(added.err).toContain("This version is deprecated: Use io.github.alice/notes2.");
  expect(JSON.parse(read("portolan.lock"))).toMatchObject({
    servers: { notes: { package: { source: `mcpb:${source}`, integrity: sri(BUNDLE) } } },
  });
  expect(resultText(await run("call", "notes.echo"))).toContain("args");
});

it("a remote becomes an ordinary server with pins; its secret goes into the vault", async () => {
  const remote = await startHttpServer();
  onTestFinished(() => remote.close());
  const url = new URL(remote.url);
  const web = await startOfficial({
    server: {
      remotes: [
        {
          type: "streamable-http",
          url: `http://${url.hostname}:{port}${url.pathname}`,
          variables: { port: { description: "The port." } },
          headers: [
            {
              name: "Authorization",
              value: "Bearer {key}",
              variables: { key: { isSecret: true, isRequired: true } },
            },
            { name: "X-Text", value: "${HOME}" },
          ],
        },
      ],
    },
  });
  const { run, read, file } = user();
  writeFileSync(file("values.json"), JSON.stringify({ key: SECRET, port: url.port }));
  const words = [
    "add",
    NAME,
    "--registry",
    web.url,
    "--yes",
    "--allow",
    "none",
    "--config-file",
    "values.json",
  ];
  expect(envelope(await run(...words, "--allow-net", "example.com")).message).toContain(
    "does not run on this machine",
  );
  const added = json(await run(...words));
  expect(added).toMatchObject({ server: "notes", written: true });
  expect(read("portolan.yaml")).toContain(`url: http://${url.host}${url.pathname}`);
  expect(read("portolan.yaml") + read("portolan.lock")).not.toContain(SECRET);
  const entry = (JSON.parse(read("portolan.lock")) as Loose)["servers"].notes as Loose;
  expect(entry["package"]).toBeUndefined();
  expect(entry["tools"].length).toBeGreaterThan(3);
  json(await run("list", "notes", "--json"));
  const { headers } = remote.requests.at(-1) ?? { headers: {} };
  // A text of the document that looks like a reference stays a text.
  expect(headers).toMatchObject({ authorization: `Bearer ${SECRET}`, "x-text": "${HOME}" });
});

it("add refuses the document of another server, a reference to a local secret, and unsupported forms", async () => {
  const { run, read } = user({ GITHUB_TOKEN: SECRET });
  const add = async (server: Loose, name = NAME, ...more: string[]): Promise<Loose> => {
    const web = await startOfficial({ server });
    const ran = await run("add", name, "--registry", web.url, "--yes", "--allow", "none", ...more);
    expect(ran.out + ran.err).not.toContain(SECRET);
    return envelope(ran);
  };
  const remote = { type: "streamable-http", url: "https://notes.example.com" };
  expect((await add({ name: "io.github.mallory/notes", remotes: [remote] }))["message"]).toContain(
    "returned io.github.mallory/notes@1.2.0",
  );
  expect((await add({ remotes: [remote] }, "io.github.alice/other"))["message"]).toContain("has no server");
  expect((await add({ remotes: [remote] }, `${NAME}@9.0.0`))["message"]).toContain("has no server");
  const value = { name: "X", value: "${part}", variables: { part: { default: "{GITHUB_TOKEN}" } } };
  expect(await add({ remotes: [{ ...remote, headers: [{ ...value, value: "${part}" }] }] })).toMatchObject({
    data: { reason: "FOREIGN_REFERENCE" },
  });
  const http = { type: "streamable-http", url: "http://127.0.0.1:8080/mcp" };
  const npm = { registryType: "npm", identifier: "notes", version: "1.2.0", transport: http };
  expect((await add({ packages: [npm] }))["message"]).toContain("npm: it uses streamable-http, not stdio");
  const odd = { ...npm, version: "file:..", transport: { type: "stdio" } };
  expect((await add({ packages: [odd] }))["message"]).toContain("its version is not a valid npm version");
  expect((await add({ packages: [] }))["message"]).toContain("no packages and no remotes");
  expect(envelope(await run("add", NAME)).message).toContain(
    "No registry with the official MCP registry API",
  );
  expect(envelope(await run("add", "alice/notes")).hint).toContain("@alice/notes");
  expect(read("portolan.yaml") + read("portolan.lock")).toBe("");
});

it(
  "if a Python package needs a host that is not granted, the error names the option --allow-net",
  needs("bubblewrap"),
  async () => {
    const programs = temporaryFolder();
    const uvx = join(programs, "uvx");
    writeFileSync(uvx, "#!/bin/sh\ngetent hosts packages.example.com\necho 'cannot fetch' >&2\nexit 2\n");
    chmodSync(uvx, 0o755);
    const pypi = {
      registryType: "pypi",
      identifier: "notes",
      version: "1.2.0",
      transport: { type: "stdio" },
    };
    const web = await startOfficial({ server: { packages: [pypi] } });
    const path = [programs, process.env["PATH"] ?? ""].join(delimiter);
    const { run, read } = user({ PORTOLAN_SANDBOX: "enforce", PATH: path });
    const ran = await run("add", NAME, "--registry", web.url, "--yes", "--allow", "none");
    const { code, hint } = envelope(ran);
    expect([ran.code, code]).toEqual([3, "SERVER_START_FAILED"]);
    expect(hint).toContain("`uv tool install notes@1.2.0`");
    expect(hint).toContain("--allow-net packages.example.com");
    // The server is not in portolan.yaml yet.
    expect(hint).not.toContain("portolan grant");
    expect(read("portolan.yaml")).toBe("");
  },
);

it("a package that was published to a registry of Portolan is added by its official name", async () => {
  const [registry, files] = [await startRegistry(), await startFileServer()];
  const url = files.serve("/tiny.mcpb", BUNDLE);
  const published = await registry.publish(
    filePackage(url, BUNDLE, (document) => {
      Object.assign(document, { name: "@alice/tiny-mcp" });
      document["mcp"].capabilities = { tools: [{ name: "echo" }] };
    }),
  );
  json(published);
  const { run, read } = user();
  const words = ["--registry", registry.url, "--yes", "--allow", "none"];
  expect(json(await run("add", "alice/tiny-mcp", ...words))).toMatchObject({ server: "tiny", written: true });
  expect(read("portolan.yaml")).toContain("package: alice/tiny-mcp@");
  expect(JSON.parse(resultText(await run("call", "tiny.echo")))).toMatchObject({
    args: ["--from", "package"],
  });
});
