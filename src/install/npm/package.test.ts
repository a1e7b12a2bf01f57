import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { integrityOf, parseIntegrity } from "../../base/text/integrity.ts";
import { type Registry, startRegistry } from "../../../test/fixtures/npm-registry.mjs";
import {
  installed,
  installNpm,
  listInstalled,
  type NpmOptions,
  readDependencies,
  removeInstalled,
} from "./package.ts";

const TLS = join(import.meta.dirname, "../../../test/fixtures/tls");
const run = promisify(execFile);
let folder: string;
let root: string;
let registry: Registry;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "portolan-npm-"));
  registry = await startRegistry();
  env = {
    PATH: process.env.PATH,
    HOME: folder,
    npm_config_registry: registry.url,
    npm_config_cache: join(folder, "cache"),
    npm_config_fetch_retries: "0",
    // Variables of an outer npm must not reach npm.
    npm_config_global: "true",
    npm_config_dry_run: "true",
    npm_config_ignore_scripts: "false",
  };
  const hello = "#!/usr/bin/env node\nconsole.log('hello', process.argv.slice(2).join());\n";
  registry.publish({ name: "dep", version: "1.0.0", bin: "dep.js", files: { "dep.js": hello } });
  for (const version of ["1.0.0", "1.1.0"])
    registry.publish({
      name: "@team/hello",
      version,
      bin: { hello: "./bin/hello.js", other: "./bin/other.sh" },
      dependencies: { dep: "^1.0.0" },
      scripts: { postinstall: `node -e "fs.writeFileSync('ran', '')"` },
      files: { "bin/hello.js": hello, "bin/other.sh": "#!/bin/sh\necho other\n" },
    });
  registry.publish({
    name: "@team/hello",
    version: "2.0.0-beta.1",
    tag: "next",
    bin: "x.js",
    files: { "x.js": hello },
  });
});
afterAll(async () => {
  await registry.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  root = await mkdtemp(join(folder, "store-"));
});

const install = (spec: string, more: Partial<NpmOptions> = {}): ReturnType<typeof installNpm> =>
  installNpm({ spec, root, env, ...more });

describe("an npm package", () => {
  test("is installed once, without its scripts, and found again without network", async () => {
    const progress: string[] = [];
    const found = await install("@team/hello@^1.0.0", { onProgress: ({ what }) => progress.push(what) });
    expect(found).toMatchObject({ name: "@team/hello", version: "1.1.0" });
    expect(found.integrity).toMatch(/^sha512-/);
    expect(progress).toEqual(["installing @team/hello@^1.0.0", "installed @team/hello@1.1.0"]);
    expect(found.file).toBe(process.execPath);
    expect((await run(found.file, [...found.args, "a", "b"])).stdout).toBe("hello a,b\n");
    expect(existsSync(join(found.folder, "node_modules/@team/hello/ran"))).toBe(false);

    const asked = registry.requests.length;
    registry.publish({ name: "@team/hello", version: "1.2.0", bin: "x.js", files: { "x.js": "" } });
    expect(await install("@team/hello@^1.0.0")).toEqual(found);
    expect(await installed({ spec: "@team/hello@^1.0.0", root })).toEqual(found);
    expect(registry.requests.length).toBe(asked);

    const updated = await install("@team/hello@^1.0.0", { update: true });
    expect(updated.version).toBe("1.2.0");
    expect(existsSync(found.folder)).toBe(true);
    expect(await readdir(join(root, "npm", "work"))).toEqual([]);
  });

  test("is accepted with the expected hash of any algorithm, and refused with another hash", async () => {
    const spec = "@team/hello@1.0.0";
    const { integrity } = await install(spec);
    const tarball = await fetch(`${registry.url}/@team/hello/-/1.0.0.tgz`);
    const bytes = Buffer.from(await tarball.arrayBuffer());
    for (const expected of [parseIntegrity(integrity), integrityOf(bytes)]) {
      const found = await install(spec, { integrity: expected });
      expect(found.version).toBe("1.0.0");
      expect(await installed({ spec, root, integrity: expected })).toEqual(found);
    }
    const before = await listInstalled(root);
    for (const algorithm of ["sha512", "sha256"] as const) {
      const wrong = { integrity: integrityOf(Buffer.from("other"), algorithm) };
      expect(await installed({ spec, root, ...wrong })).toBeUndefined();
      await expect(install(spec, wrong)).rejects.toMatchObject({
        code: "INSTALL_FAILED",
        data: { reason: "HASH_MISMATCH" },
      });
    }
    expect(await listInstalled(root)).toEqual(before);
    expect(await readdir(join(root, "npm", "work"))).toEqual([]);
  });

  test("can be requested by version, by tag, or by name alone", async () => {
    expect((await install("@team/hello@1.0.0")).version).toBe("1.0.0");
    expect((await install("@team/hello@next")).version).toBe("2.0.0-beta.1");
    expect((await install("dep")).version).toBe("1.0.0");
    expect((await listInstalled(root)).map(({ spec, version }) => [spec, version])).toEqual([
      ["@team/hello@1.0.0", "1.0.0"],
      ["@team/hello@next", "2.0.0-beta.1"],
      ["dep@latest", "1.0.0"],
    ]);
    expect(await removeInstalled({ spec: "dep", root })).toBe(true);
    expect(await installed({ spec: "dep", root })).toBeUndefined();
    expect(await readdir(join(root, "npm", "entries"))).toHaveLength(2);
  });

  test("is stored once for two specs, and removed with the last of them", async () => {
    const [a, b] = [await install("dep@1.0.0"), await install("dep@^1.0.0")];
    expect(b.folder).toBe(a.folder);
    await removeInstalled({ spec: "dep@1.0.0", root });
    expect(existsSync(a.folder)).toBe(true);
    await removeInstalled({ spec: "dep@^1.0.0", root });
    expect(existsSync(a.folder)).toBe(false);
  });

  test("provides the requested program, also one of a dependency", async () => {
    const other = await install("@team/hello@1.0.0", { bin: "other" });
    expect(other).toMatchObject({ args: [] });
    expect((await run(other.file, [])).stdout).toBe("other\n");
    const dep = await install("@team/hello@1.0.0", { bin: "dep" });
    expect(dep.args[0]).toBe(join(dep.folder, "node_modules/dep/dep.js"));
    await expect(install("@team/hello@1.0.0", { bin: "none" })).rejects.toMatchObject({
      code: "INSTALL_FAILED",
      message: '@team/hello has no program "none" (it has: hello, other).',
    });
  });

  test("is refused if its bin path leads out of the package", async () => {
    registry.publish({ name: "escape", version: "1.0.0", bin: "../../../../../../../../../bin/sh" });
    await expect(install("escape")).rejects.toMatchObject({ code: "INSTALL_FAILED" });
  });

  test("is installed again if its node_modules or its record is damaged", async () => {
    const found = await install("dep");
    await rm(join(found.folder, "node_modules"), { recursive: true });
    expect(await installed({ spec: "dep", root })).toBeUndefined();
    expect(await install("dep")).toEqual(found);
    expect(existsSync(join(found.folder, "node_modules/dep/dep.js"))).toBe(true);
    await writeFile(join(found.folder, ".portolan.json"), "{");
    expect(await install("dep")).toEqual(found);
  });

  test("is installed again from the cache of npm if a dependency was removed", async () => {
    const own = await startRegistry();
    const cached = {
      ...{ env: { ...env, npm_config_registry: own.url, npm_config_cache: join(folder, "own-cache") } },
    };
    own.publish({ name: "part", version: "1.0.0" });
    own.publish({
      name: "whole",
      version: "1.0.0",
      bin: "x.js",
      dependencies: { part: "1" },
      files: { "x.js": "" },
    });
    const found = await install("whole", cached);
    await own.close();
    await rm(join(found.folder, "node_modules/part"), { recursive: true });
    expect(await installed({ spec: "whole", root })).toBeUndefined();
    const progress: string[] = [];
    expect(await install("whole", { ...cached, onProgress: ({ what }) => progress.push(what) })).toEqual(
      found,
    );
    expect(progress).toEqual([
      "installing whole@latest again: node_modules/part is missing",
      "installed whole@1.0.0",
    ]);
    expect(existsSync(join(found.folder, "node_modules/part/package.json"))).toBe(true);
  });
});

test("a package with an aliased dependency is installed again with exactly the locked dependencies", async () => {
  const publish = (name: string, version: string, dependencies: Record<string, string> = {}): void =>
    registry.publish({ name, version, bin: "x.js", dependencies, files: { "x.js": "" } });
  publish("below", "1.0.0");
  publish("real", "1.0.0", { below: "^1.0.0" });
  publish("with-alias", "1.0.0", { alias: "npm:real@^1.0.0" });
  const spec = "with-alias@1.0.0";
  await install(spec);
  const dependencies = (await readDependencies({ spec, root })) ?? [];
  expect(dependencies).toEqual([
    expect.stringMatching(/^alias npm:real@1\.0\.0 sha512-/),
    expect.stringMatching(/^below 1\.0\.0 sha512-/),
  ]);
  // Newer versions, and a package that has the alias as its name.
  publish("below", "1.1.0");
  publish("real", "1.1.0");
  publish("alias", "1.0.0", { evil: "^1.0.0" });
  const before = registry.requests.length;
  const found = await install(spec, { dependencies, root: await mkdtemp(join(folder, "store-")) });
  const there = JSON.parse(await readFile(join(found.folder, "package-lock.json"), "utf8")) as {
    packages: Record<string, { version?: string }>;
  };
  expect(there.packages).toMatchObject({
    "node_modules/alias": { name: "real", version: "1.0.0" },
    "node_modules/below": { version: "1.0.0" },
  });
  expect(registry.requests.slice(before)).not.toContain("/alias");

  const changed = dependencies.map((line) => line.replace(/^(alias \S+) .*/, `$1 ${found.integrity}`));
  await expect(install(spec, { dependencies: changed })).rejects.toMatchObject({
    message: expect.stringContaining("alias npm:real@1.0.0 has another hash") as string,
    data: { reason: "HASH_MISMATCH" },
  });
});

describe("a failed installation leaves no files", () => {
  const clean = async (): Promise<void> => {
    expect(await readdir(join(root, "npm", "work"))).toEqual([]);
    expect(await readdir(join(root, "npm", "entries"))).toEqual([]);
  };

  test("a package or a version that does not exist", async () => {
    await expect(install("nothing-like-it")).rejects.toMatchObject({
      code: "PACKAGE_NOT_FOUND",
      // npm begins each of its lines with the status.
      message: expect.stringMatching(
        /: 404 Not Found - GET \S+ - .*\n(?!404)[^\n]*nothing-like-it[^\n]*$/,
      ) as string,
      data: { reason: "E404", permanent: true },
      hint: expect.stringContaining("name") as string,
    });
    await expect(install("dep@^9")).rejects.toMatchObject({
      code: "PACKAGE_NOT_FOUND",
      message: expect.stringMatching(/: No matching version found for dep@\^9\./) as string,
      data: { reason: "ETARGET", permanent: true },
    });
    await clean();
  });

  test("bytes that do not match the hash of the registry", async () => {
    registry.publish({ name: "tampered", version: "1.0.0", bin: "evil.js", tamper: true });
    await expect(install("tampered")).rejects.toMatchObject({ data: { reason: "EINTEGRITY" } });
    await clean();
  });

  test("a dependency that is a git repository", async () => {
    const dependencies = { part: "git+https://127.0.0.1:1/part.git" };
    registry.publish({ name: "with-git", version: "1.0.0", bin: "x.js", dependencies });
    await expect(install("with-git")).rejects.toMatchObject({ code: "INSTALL_FAILED" });
    await clean();
  });

  test("an unreachable registry; the error contains no credentials", async () => {
    const npmrc = join(folder, "npmrc");
    await writeFile(npmrc, "//127.0.0.1:1/:_authToken=${MY_TOKEN}\n");
    const offline = {
      ...env,
      npm_config_registry: "http://someone:s3cr3t-word@127.0.0.1:1/",
      npm_config_userconfig: npmrc,
      MY_TOKEN: "token-of-mine",
    };
    const error = await install("dep", { env: offline }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: "INSTALL_FAILED",
      data: { reason: "ECONNREFUSED" },
      hint: expect.stringContaining("network") as string,
    });
    expect(JSON.stringify(error)).not.toMatch(/s3cr3t-word|token-of-mine/);
    await clean();
  });

  test("a registry with a certificate of an unknown authority, and one that requires a login", async () => {
    const [cert, key] = ["cert.pem", "key.pem"].map((name) => readFileSync(join(TLS, name)));
    const server = createServer({ cert, key }, (_, response) => response.writeHead(401).end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    await expect(install("dep", { env: { ...env, npm_config_registry: url } })).rejects.toMatchObject({
      code: "INSTALL_FAILED",
      data: { reason: "DEPTH_ZERO_SELF_SIGNED_CERT" },
      hint: expect.stringMatching(
        /npm config set cafile <file>, or set the variable NODE_EXTRA_CA_CERTS/,
      ) as string,
    });
    const trusted = { ...env, npm_config_cafile: join(TLS, "cert.pem") };
    await expect(install(`dep --registry=${url}`, { env: trusted })).rejects.toMatchObject({
      hint: expect.stringContaining(`npm login --registry=${url}`) as string,
    });
    await clean();
  });

  test("a spec that is a repository, a file or a URL", async () => {
    for (const spec of ["someone/thing", "./here", "a@npm:b@1", "a@file:../b", "-g", "a@$(x)"])
      await expect(install(spec)).rejects.toMatchObject({ code: "INSTALL_FAILED" });
  });

  test("an abort, which ends npm", async () => {
    registry.publish({ name: "slow", version: "1.0.0", bin: "x.js", files: { "x.js": "" } });
    const held = registry.hold(/slow/);
    const abort = new AbortController();
    const waiting = install("slow", { signal: abort.signal });
    await held.seen;
    abort.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    held.release();
    await clean();
  });
});

test("npm gets the registry settings of the user, and no other variables of the environment", async () => {
  const found = await install("dep", {
    env: { ...env, npm_config_prefix: "/nowhere", NODE_OPTIONS: "--bad" },
  });
  const lock = JSON.parse(await readFile(join(found.folder, "package-lock.json"), "utf8")) as {
    packages: Record<string, { resolved?: string }>;
  };
  expect(lock.packages["node_modules/dep"]?.resolved).toContain(registry.url);
});
