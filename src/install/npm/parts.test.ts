// Dependencies that are not packages of a registry: repositories that run scripts, and folders of this machine.
// None may get into the store.

import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { makeTarGz } from "../../../test/fixtures/lib/tar.mjs";
import { type Registry, startRegistry } from "../../../test/fixtures/npm-registry.mjs";
import { installed, type Installed, installNpm } from "./package.ts";
import { guardWords } from "./cli.ts";

const run = promisify(execFile);
const PROGRAM = { "x.js": "#!/usr/bin/env node\nconsole.log('x');\n" };
let folder: string;
let root: string;
let registry: Registry;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "portolan-parts-"));
  registry = await startRegistry();
  env = {
    PATH: process.env.PATH,
    HOME: folder,
    npm_config_registry: registry.url,
    npm_config_fetch_retries: "0",
  };
  const secret = join(folder, "secret");
  await mkdir(secret);
  await writeFile(join(secret, "package.json"), '{"name":"secret","version":"1.0.0"}');
  await writeFile(join(secret, ".env"), "hush");
});
afterAll(async () => {
  await registry.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  root = await mkdtemp(join(folder, "store-"));
});

const install = (spec: string, more: NodeJS.ProcessEnv = {}): Promise<Installed> =>
  installNpm({ spec, root, env: { ...env, ...more } });
const publish = (name: string, more: Partial<Parameters<Registry["publish"]>[0]> = {}): void =>
  registry.publish({ name, version: "1.0.0", bin: "x.js", ...more, files: { ...PROGRAM, ...more.files } });

async function expectRefused(spec: string, more?: NodeJS.ProcessEnv): Promise<void> {
  await expect(install(spec, more)).rejects.toMatchObject({ code: "INSTALL_FAILED" });
  for (const place of ["entries", "specs", "work"])
    expect(await readdir(join(root, "npm", place)), place).toEqual([]);
}

/** The npm-shrinkwrap.json of a package. */
const shrinkwrap = (name: string, part: Readonly<Record<string, unknown>>): Record<string, string> => ({
  "npm-shrinkwrap.json": JSON.stringify({
    ...{ name, version: "1.0.0", lockfileVersion: 3 },
    packages: { "": { name, version: "1.0.0", dependencies: { part: "1" } }, "node_modules/part": part },
  }),
});

describe("a dependency that is a local folder is refused", () => {
  test("by absolute or relative path, as an indirect dependency, or as an optional one", async () => {
    const secret = join(folder, "secret");
    publish("by-path", { dependencies: { part: `file:${secret}` } });
    publish("by-bare-path", { dependencies: { part: secret } });
    publish("by-way", { dependencies: { part: `file:${"../".repeat(20)}${relative("/", secret)}` } });
    publish("part-of-part", { dependencies: { "by-path": "1" } });
    publish("optional", { optionalDependencies: { part: `file:${secret}` } });
    for (const name of ["by-path", "by-bare-path", "by-way", "part-of-part", "optional"])
      await expectRefused(name);
    await expect(install("by-path")).rejects.toMatchObject({
      message: expect.stringContaining('its dependency "part" is a file or folder of this machine') as string,
      hint: expect.stringContaining("publish") as string,
    });
  });

  test("in the npm-shrinkwrap.json of the package", async () => {
    const resolved = `file:${join(folder, "secret")}`;
    for (const [index, part] of [
      { version: "1.0.0", resolved },
      { version: "1.0.0", resolved, inBundle: true },
      { version: "1.0.0", resolved, integrity: "sha512-AAAA" },
      { resolved: join(folder, "secret"), link: true },
    ].entries()) {
      const name = `listed-${index}`;
      publish(name, { _hasShrinkwrap: true, dependencies: { part: "1" }, files: shrinkwrap(name, part) });
      await expectRefused(name);
    }
  });
});

describe("a dependency that is a git repository is refused, and its scripts do not run", () => {
  let ran: string;
  let script: Record<string, string>;
  beforeEach(() => {
    ran = join(root, "ran");
    script = { prepare: `node -e "fs.writeFileSync('${ran}', '')"` };
  });

  test("a local repository", async () => {
    const repository = await mkdtemp(join(folder, "repository-"));
    const manifest = { name: "part", version: "1.0.0", scripts: script };
    await writeFile(join(repository, "package.json"), JSON.stringify(manifest));
    const git = (...words: string[]): Promise<unknown> =>
      run("git", ["-c", "user.name=x", "-c", "user.email=x@x.test", ...words], { cwd: repository });
    await git("init", "-q");
    await git("add", ".");
    await git("commit", "-q", "-m", "x");
    publish("with-repository", { dependencies: { part: `git+file://${repository}` } });
    publish("with-listed-repository", {
      _hasShrinkwrap: true,
      dependencies: { part: "1" },
      files: shrinkwrap("with-listed-repository", {
        version: "1.0.0",
        resolved: `git+file://${repository}#${"a".repeat(40)}`,
      }),
    });
    await expectRefused("with-repository");
    await expectRefused("with-listed-repository");
    expect(existsSync(ran)).toBe(false);
  });

  describe("a repository of GitHub", () => {
    let host: TlsServer;
    let proxy: Server;
    beforeAll(async () => {
      const [key, cert] = await Promise.all(
        ["key", "cert"].map((name) =>
          readFile(new URL(`../../../test/fixtures/tls/${name}.pem`, import.meta.url)),
        ),
      );
      // npm downloads one commit as an archive without git, and builds the package in it.
      host = createTlsServer({ key, cert }, (_request, response) => {
        const manifest = JSON.stringify({ name: "part", version: "1.0.0", scripts: script });
        response.end(makeTarGz([{ path: "part/package.json", body: manifest }]));
      });
      host.listen(0, "127.0.0.1");
      await once(host, "listening");
      proxy = createServer();
      proxy.on("connect", (_request, socket) => {
        const there = connect((host.address() as AddressInfo).port, "127.0.0.1", () => {
          socket.write("HTTP/1.1 200 OK\r\n\r\n");
          there.pipe(socket).pipe(there);
        });
        for (const one of [there, socket]) one.on("error", () => {});
      });
      proxy.listen(0, "127.0.0.1");
      await once(proxy, "listening");
    });
    afterAll(() => {
      for (const server of [host, proxy]) {
        server.closeAllConnections();
        server.close();
      }
    });

    test("that npm downloads as an archive, without git", async () => {
      publish("with-commit", { dependencies: { part: `github:someone/part#${"a".repeat(40)}` } });
      await expectRefused("with-commit", {
        npm_config_https_proxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
        npm_config_noproxy: "127.0.0.1",
        npm_config_strict_ssl: "false",
      });
      expect(existsSync(ran)).toBe(false);
    });
  });
});

test("npm cannot start processes, and writes only to its own folders", async () => {
  const [own, other] = [join(root, "own"), join(root, "other")];
  await mkdir(other);
  const attempt = `
    const { spawnSync } = require("node:child_process");
    const { writeFileSync } = require("node:fs");
    const tries = [() => spawnSync("true"), () => writeFileSync(${JSON.stringify(join(other, "x"))}, ""),
      () => writeFileSync(${JSON.stringify(join(own, "x"))}, "")];
    console.log(tries.map((one) => { try { one(); return "done"; } catch (error) { return error.code; } }).join());`;
  // The same folder twice, as if npm's cache were in the work folder.
  const words = [...(await guardWords([own, own])), "-e", attempt];
  const { stdout, stderr } = await run(process.execPath, words);
  expect([stdout.trim(), stderr]).toEqual(["ERR_ACCESS_DENIED,ERR_ACCESS_DENIED,done", ""]);
});

describe("a registry package", () => {
  test("can have bundled dependencies and dependencies by URL", async () => {
    const inner = { "node_modules/inner/package.json": '{"name":"inner","version":"1.0.0"}' };
    publish("bundling", { dependencies: { inner: "1" }, bundleDependencies: ["inner"], files: inner });
    publish("addressed", { dependencies: { part: `${registry.url}/bundling/-/1.0.0.tgz` } });
    expect((await install("bundling")).version).toBe("1.0.0");
    const found = await install("addressed");
    expect(existsSync(join(found.folder, "node_modules/part/x.js"))).toBe(true);
    expect(await readdir(join(found.folder, "node_modules"))).not.toContain(".bin");
  });

  test("is installed whatever the .npmrc of the user sets", async () => {
    publish("settled");
    const npmrc = join(folder, "npmrc");
    const lines = [
      "omit-lockfile-registry-resolved=true",
      "bin-links=true",
      "location=global",
      "git=/bin/true",
    ];
    await writeFile(npmrc, [...lines, "package-lock=false", "install-links=false", ""].join("\n"));
    expect((await install("settled", { npm_config_userconfig: npmrc })).version).toBe("1.0.0");
  });

  test("is installed again if its program was emptied, but not if only its file time changed", async () => {
    publish("sealed");
    const found = await install("sealed");
    const program = found.args.at(-1) ?? "";
    await utimes(program, 1_000, 1_000);
    const asked = registry.requests.length;
    expect(await install("sealed")).toEqual(found);
    expect(registry.requests.length).toBe(asked);
    await writeFile(program, "");
    expect(await installed({ spec: "sealed", root })).toBeUndefined();
    expect(await install("sealed")).toEqual(found);
    expect(await readFile(program, "utf8")).toBe(PROGRAM["x.js"]);
    await writeFile(join(found.folder, "package-lock.json"), "{}");
    expect(await install("sealed")).toEqual(found);
    expect(await readdir(join(root, "npm", "entries"))).toHaveLength(1);
  });
});
