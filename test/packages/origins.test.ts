// Origins of packages in commands: an npm package with provenance and signatures under a root of the workspace, and a signed bundle.

import { createHash, sign } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { makeZip } from "../fixtures/lib/zip.mjs";
import { startRegistry as startNpmRegistry } from "../fixtures/npm-registry.mjs";
import {
  createBundle,
  createSigstore,
  createStatement,
  NPM_KEY_ID,
  npmKeys,
  provenance,
  PROVENANCE_V1,
  trustedRoot,
} from "../helpers/attestations.ts";
import { envelope, portolan, type Ran } from "../helpers/cli.ts";
import { ACCEPT, NAME, userOf } from "../helpers/package-server.ts";
import { packageFolder, SERVER_SCRIPT, sri } from "../helpers/packages.ts";
import { type Loose, packageDocument, startRegistry } from "../helpers/registry.ts";
import {
  CODE_SIGNING,
  createCertificate,
  createEcKey,
  createSignature,
  signatureBlock,
} from "../helpers/signed-bundle.ts";

const NPM = "@alice/notes";
const REPOSITORY = "https://github.com/alice/notes";
const SIGNER = `${REPOSITORY} (repository 42)`;
const PROGRAM = readFileSync(new URL("../fixtures/github-server.mjs", import.meta.url), "utf8");
const TRUST = "  trust: { sigstore_root: root.json, npm_keys: keys.json }\n";

const MANIFEST = {
  ...{ manifest_version: "0.3", name: "tiny", version: "1.0.0", description: "A small server." },
  author: { name: "Alice" },
  server: {
    ...{ type: "node", entry_point: "server/index.js" },
    mcp_config: { command: "node", args: ["${__dirname}/server/index.js"] },
  },
};

const json = (ran: Ran): Loose => {
  expect({ code: ran.code, err: ran.code === 0 ? "" : ran.err }).toEqual({ code: 0, err: "" });
  return JSON.parse(ran.out) as Loose;
};

async function stage() {
  const [registry, npm, sigstore] = [await startRegistry(), await startNpmRegistry(), await createSigstore()];
  onTestFinished(() => npm.close());
  const cwd = join(registry.folder, "workspace");
  mkdirSync(cwd);
  const file = (name: string): string => join(cwd, name);
  writeFileSync(file("root.json"), trustedRoot(sigstore));
  writeFileSync(file("keys.json"), npmKeys(sigstore));
  const settings = (more = ""): void => writeFileSync(file("portolan.yaml"), `packages:\n${TRUST}${more}`);
  settings();
  const user = userOf(registry, cwd, {
    npm_config_registry: npm.url,
    npm_config_cache: join(registry.folder, "npm-cache"),
  });

  const publish = async (version: string): Promise<void> => {
    npm.publish({
      ...{ name: NPM, version, bin: { "github-mcp": "server.mjs" } },
      files: { "server.mjs": `#!/usr/bin/env node\n${PROGRAM}\n// ${version}` },
    });
    const hash = createHash("sha512").update(npm.tarballOf(NPM, version)).digest("base64");
    const document = packageDocument((value) => {
      Object.assign(value, { name: NAME, version });
      value["mcp"].executable = "github-mcp";
      value["mcp"].capabilities.tools = [{ name: "create_issue", description: "Create a GitHub issue" }];
      value["source"] = { type: "npm", url: `npm:${NPM}@${version}`, hash: `sha512-${hash}` };
      value["requirements"] = { runtime: { node: ">=20" } };
      value["security"].sandbox = { required: false };
      value["metadata"].repository = REPOSITORY;
    });
    json(await registry.publish(document));
  };

  /** The registry's signature, and provenance of a repository. */
  const attest = async (version: string, change: Loose = {}): Promise<void> => {
    const { repository = REPOSITORY, repositoryId = "42", forged = false, signed = true } = change;
    const bytes = npm.tarballOf(NPM, version);
    const text = `${NPM}@${version}:sha512-${createHash("sha512").update(bytes).digest("base64")}`;
    const sig = sign("sha256", Buffer.from(text), sigstore.npmKey.privateKey).toString("base64");
    const bundle = await createBundle(sigstore, {
      statement: createStatement({ name: NPM, version, bytes, predicate: provenance(repository) }),
      ...{ repository, repositoryId, forged },
      workflow: `${repository}/.github/workflows/release.yml@refs/tags/v1`,
    });
    npm.attest(NPM, version, {
      signatures: signed ? [{ keyid: NPM_KEY_ID, sig }] : undefined,
      answer: { attestations: [{ predicateType: PROVENANCE_V1, bundle }] },
    });
  };
  const add = (...words: string[]): Promise<Ran> =>
    user("add", NAME, ...ACCEPT, "--sandbox", "off", ...words);
  const locked = (): Loose => {
    const { servers } = JSON.parse(readFileSync(file("portolan.lock"), "utf8")) as Loose;
    return servers.github.package as Loose;
  };
  const forget = (): void => {
    const options = { recursive: true, force: true };
    rmSync(join(registry.folder, "data", "portolan", "store"), options);
    rmSync(join(registry.folder, "npm-cache"), options);
  };
  return { npm, user, file, settings, publish, attest, add, locked, forget };
}

it("a verified origin is shown and locked; update, install and start refuse another or no signer", async () => {
  const { npm, user, settings, publish, attest, add, locked, forget } = await stage();
  settings("  require: [provenance, signature]\n");
  await publish("1.0.0");
  await attest("1.0.0");
  const shown = await add("--dry-run", "--text");
  expect(shown.err).toContain(`built by: ${SIGNER}`);
  expect(shown.err).toContain("signed by the npm registry: npm keys of keys.json");
  json(await add());
  const remembered = [
    { kind: "npm-signature", signer: "npm keys of keys.json" },
    { kind: "npm-provenance", signer: SIGNER },
  ];
  expect(locked()["provenance"]).toEqual(remembered);
  expect(json(await user("update"))["servers"]).toMatchObject([{ state: "current" }]);

  // The same version, by another signer and without a signature.
  await attest("1.0.0", { repositoryId: "43" });
  const other = envelope(await user("update"));
  expect(other.message).toContain(`is now by ${REPOSITORY} (repository 43); portolan.lock names ${SIGNER}`);
  npm.attest(NPM, "1.0.0");
  expect(envelope(await user("update")).message).toContain(
    `provenance is missing now; portolan.lock names ${SIGNER}`,
  );
  forget();
  const frozen = await user("install", "--frozen");
  expect(frozen.code).toBe(1);
  expect(frozen.out).toContain(`portolan.lock names ${SIGNER}`);
  expect((await user("call", "github.create_issue", "repo=a/b", "title=x")).err).toContain(
    `portolan.lock names ${SIGNER}`,
  );
  await attest("1.0.0");
  expect(json(await user("install", "--frozen"))["servers"]).toMatchObject([{ state: "installed" }]);
});

it("update refuses a new version that is unsigned, forged or of another repository", async () => {
  const { npm, user, settings, publish, attest, add, locked } = await stage();
  settings("  require: [provenance, signature]\n");
  await publish("1.0.0");
  await attest("1.0.0");
  json(await add());
  const { provenance: remembered } = locked();
  await publish("1.1.0");
  const refusal = async (): Promise<string> => {
    const { code, message } = envelope(await user("update", "--yes"));
    expect(code).toBe("FORBIDDEN");
    expect(locked()).toMatchObject({ version: "1.0.0", provenance: remembered });
    return message;
  };
  const unsigned = await refusal();
  expect(unsigned).toContain(`provenance is missing now; portolan.lock names ${SIGNER}`);
  expect(unsigned).toContain("requires provenance, but the package is unsigned");
  await attest("1.1.0", { forged: true });
  expect(await refusal()).toContain("wrong origin");
  await attest("1.1.0", { repository: "https://github.com/mallory/notes" });
  expect(await refusal()).toContain(`but its metadata names ${REPOSITORY}`);
  await attest("1.1.0", { signed: false });
  expect(await refusal()).toContain("registry's signature is missing now");
  npm.attest(NPM, "1.1.0", { answer: { status: 503 } });
  expect(await refusal()).toContain(`cannot be checked (`);
  await attest("1.1.0");
  expect(json(await user("update", "--yes"))["servers"]).toMatchObject([{ state: "updated" }]);
  expect(locked()).toMatchObject({ version: "1.1.0", provenance: remembered });
});

it("an unsigned or unchecked package is refused only by a policy; a forged one is always refused", async () => {
  const { npm, file, settings, publish, attest, add, locked } = await stage();
  await publish("1.0.0");
  const show = async (): Promise<string> => (await add("--dry-run", "--text")).err;
  expect(await show()).toMatch(/provenance +not signed/);
  npm.attest(NPM, "1.0.0", { answer: { status: 503 } });
  expect(await show()).toMatch(
    /provenance +not checked: The request to the npm registry for .* failed: status 503/,
  );
  for (const [require, reason] of [
    ["provenance", "requires provenance, but the package was not checked"],
    ["signature", "requires a signature, but the package was not checked"],
  ]) {
    settings(`  require: [${require}]\n`);
    const { message, hint } = envelope(await add());
    expect(message).toContain(reason);
    expect(hint).toContain("Check the network. Check the registry setting of npm");
  }
  settings();
  await attest("1.0.0", { forged: true });
  expect(envelope(await add())).toMatchObject({ code: "FORBIDDEN" });
  expect(existsSync(file("portolan.lock"))).toBe(false);
  npm.attest(NPM, "1.0.0");
  settings("  require: [signature]\n");
  expect(envelope(await add()).message).toContain("requires a signature, but the package is unsigned");
  settings();
  json(await add());
  expect(locked()["provenance"]).toBeUndefined();

  // A broken file of trusted keys is never ignored.
  writeFileSync(file("keys.json"), "{}");
  writeFileSync(file("portolan.yaml"), `packages:\n${TRUST}`);
  expect(envelope(await add())).toMatchObject({ code: "FILE_INVALID" });
});

it("the signer of a bundle must be trusted in packages.trust, and is locked and compared", async () => {
  const folder = packageFolder();
  const [key, otherKey] = [createEcKey(), createEcKey()];
  const day = 86_400_000;
  const dates = { from: new Date(Date.now() - day), to: new Date(Date.now() + day) };
  const certificateOf = (name: string, own: typeof key): Buffer =>
    createCertificate({ name, key: own, keyUsage: 0x80, extendedKeyUsage: [CODE_SIGNING], ...dates });
  const certificates = { Alice: certificateOf("Alice", key), Mallory: certificateOf("Mallory", otherKey) };
  const body = certificates.Alice.toString("base64");
  writeFileSync(
    join(folder, "team.pem"),
    `-----BEGIN CERTIFICATE-----\n${body.replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
  );
  const bundle = (version: string): Buffer =>
    makeZip([
      { path: "manifest.json", body: JSON.stringify({ ...MANIFEST, version }) },
      { path: "server/index.js", body: SERVER_SCRIPT },
    ]);
  const signed = (content: Buffer, issuer: keyof typeof certificates = "Alice"): Buffer => {
    const own = { certificate: certificates[issuer], key: issuer === "Alice" ? key : otherKey };
    return Buffer.concat([content, signatureBlock(createSignature({ content, issuer, ...own }))]);
  };
  const write = (bytes: Buffer): void => writeFileSync(join(folder, "tiny.mcpb"), bytes);
  const user = (...words: string[]): Promise<Ran> =>
    portolan(words, { cwd: folder, env: { XDG_DATA_HOME: join(folder, "data") } });
  const add = (...words: string[]): Promise<Ran> =>
    user("add", "mcpb:./tiny.mcpb", "--yes", "--allow", "none", "--sandbox", "off", ...words);
  const settings = (more: string): void => writeFileSync(join(folder, "portolan.yaml"), `packages:\n${more}`);

  write(signed(bundle("1.0.0")));
  settings("  require: [signature]\n");
  expect(envelope(await add()).message).toMatch(/is signed by .*Alice.*, which is not trusted/);
  settings("  require: [signature]\n  trust: { certificates: [team.pem] }\n");
  expect((await add("--dry-run", "--text")).err).toMatch(/provenance +signed by: .*Alice/);
  json(await add());
  const { servers } = JSON.parse(readFileSync(join(folder, "portolan.lock"), "utf8")) as Loose;
  const [{ kind, signer }] = servers.tiny.package.provenance as [Loose];
  expect({ kind, signer }).toMatchObject({
    kind: "mcpb-signature",
    signer: expect.stringContaining("Alice"),
  });

  write(bundle("1.1.0"));
  expect(envelope(await user("update", "--yes")).message).toContain(
    `missing now; portolan.lock names ${signer}`,
  );
  write(signed(bundle("1.1.0"), "Mallory"));
  const other = envelope(await user("update", "--yes")).message;
  expect(other).toContain(`portolan.lock names ${signer}`);
  expect(other).toContain("Mallory");
  write(signed(bundle("1.1.0")));
  expect(json(await user("update", "--yes"))["servers"]).toMatchObject([{ state: "updated" }]);

  // A lock file with another hash beside the old signer.
  const lockFile = join(folder, "portolan.lock");
  const text = readFileSync(lockFile, "utf8");
  const { integrity } = (JSON.parse(text) as Loose)["servers"].tiny.package as Loose;
  write(bundle("1.1.0"));
  writeFileSync(lockFile, text.replace(integrity as string, sri(bundle("1.1.0"))));
  const installed = await user("install", "--frozen");
  expect(installed.code).toBe(1);
  expect(installed.out).toContain("it is not signed now; portolan.lock names");
});
