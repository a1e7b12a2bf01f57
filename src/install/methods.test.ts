import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { makeTar, makeTarGz, type TarEntry } from "../../test/fixtures/lib/tar.mjs";
import { makeZip } from "../../test/fixtures/lib/zip.mjs";
import { type Registry, startRegistry } from "../../test/fixtures/npm-registry.mjs";
import type { Diagnostic } from "../errors/index.ts";
import { type InstallMethod, type LaunchSettings, parseProgram } from "../model/index.ts";
import { runProgram } from "../process/index.ts";
import { safePath, unpack } from "./archive/unpack.ts";
import { ensureInstalled, type InstallContext, type Resolved } from "./ensure.ts";
import { obtain } from "./methods.ts";

let folder: string;
let root: string;
let server: Server;
let registry: Registry;
let origin: string;
let seen: Diagnostic[];
const served = new Map<string, Buffer | { status: number; location?: string }>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "portolan-methods-"));
  registry = await startRegistry();
  server = createServer((request, response) => {
    const found = served.get(request.url ?? "");
    if (Buffer.isBuffer(found)) response.end(found);
    else
      response
        .writeHead(found?.status ?? 404, found?.location === undefined ? {} : { location: found.location })
        .end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await registry.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  root = await mkdtemp(join(folder, "store-"));
  seen = [];
});

const TOOL = "#!/usr/bin/env node\nconsole.log('tool v' + '1.2.3');\n";
const sha = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");
function serve(path: string, body: Buffer | string): { url: string; sha256: string } {
  served.set(path, Buffer.from(body));
  return { url: origin + path, sha256: sha(body) };
}
const context = (): InstallContext & { root: string } => ({
  server: "s",
  root,
  report: (diagnostic) => void seen.push(diagnostic),
  run: runProgram,
  env: {
    PATH: process.env.PATH,
    HOME: folder,
    npm_config_registry: registry.url,
    npm_config_cache: join(folder, "cache"),
    npm_config_fetch_retries: "0",
  },
});
const get = (...methods: InstallMethod[]): ReturnType<typeof obtain> => obtain("tool", methods, context());
const ensure = (settings: LaunchSettings, command: string, ...args: string[]): Promise<Resolved> =>
  ensureInstalled(settings, parseProgram({ command, args }), context());

describe("a download", () => {
  test("is fetched once, and is executable", async () => {
    const file = serve("/tool", TOOL);
    const found = await get({ method: "curl", ...file });
    expect(found.source).toBe(`${file.url} sha256:${file.sha256}`);
    expect(await readFile(found.file, "utf8")).toBe(TOOL);
    expect((await stat(found.file)).mode & 0o777).toBe(0o755);
    served.delete("/tool");
    expect(await get({ method: "curl", ...file })).toEqual(found);
  });

  test.each(["tar", "tar.gz"])(
    "of a %s archive contains the program and the files beside it",
    async (kind) => {
      const entries: TarEntry[] = [
        { path: "./", type: "5" },
        { path: "tool-1.0/", type: "5", mode: 0o755 },
        { path: "tool-1.0/lib.js", body: "lib" },
        { path: "ignored", type: "x", body: "22 path=tool-1.0/tool\n" },
        { path: "short", body: TOOL, mode: 0o775 },
      ];
      const archive = serve(`/a.${kind}`, kind === "tar" ? makeTar(entries) : makeTarGz(entries));
      const found = await get({ method: "download", extractBin: "tool", ...archive });
      expect(found.file).toBe(join(found.folder ?? "", "tool-1.0/tool"));
      expect((await stat(found.file)).mode & 0o7777).toBe(0o755);
      expect(await readFile(join(found.folder ?? "", "tool-1.0/lib.js"), "utf8")).toBe("lib");
    },
  );

  test("of a zip archive contains the program and the files beside it", async () => {
    const zip = makeZip([
      { path: "bin/tool", body: TOOL, mode: 0o100755 },
      { path: "bin/readme", body: "x", stored: true },
    ]);
    const found = await get({ method: "download", extractBin: "bin/tool", ...serve("/a.zip", zip) });
    expect(await readFile(found.file, "utf8")).toBe(TOOL);
    expect(await readFile(join(found.folder ?? "", "bin/readme"), "utf8")).toBe("x");
  });

  test.each([
    ["other bytes", () => ({ ...serve("/x", "x"), sha256: sha("y") }), /its hash is/],
    ["no hash", () => ({ url: serve("/x", "x").url, sha256: undefined }), /has no SHA-256/],
    ["an incomplete hash", () => ({ ...serve("/x", "x"), sha256: "abc" }), /not a SHA-256/],
    ["status 404", () => ({ url: `${origin}/none`, sha256: sha("") }), /status 404/],
    ["a URL without https", () => ({ url: "http://example.test/x", sha256: sha("") }), /not https/],
    ["another scheme", () => ({ url: "docker://image", sha256: sha("") }), /not https/],
    ["a shell script as the program", () => serve("/sh", "#!/bin/sh\nrm -rf x\n"), /shell script/],
    [
      "a redirect loop",
      () => (served.set("/c", { status: 302, location: "/c" }), { url: `${origin}/c`, sha256: sha("") }),
      /too many redirects/,
    ],
    [
      "a redirect to a private address",
      () => (
        served.set("/p", { status: 302, location: "https://10.0.0.1/" }),
        { url: `${origin}/p`, sha256: sha("") }
      ),
      /private address/,
    ],
  ])("with %s is refused, and leaves no files in the store", async (_, make, message) => {
    await expect(get({ method: "curl", ...make() })).rejects.toMatchObject({
      code: "INSTALL_FAILED",
      message: expect.stringMatching(message) as string,
    });
    for (const name of ["work", "entries", "specs"])
      if (existsSync(join(root, "files"))) expect(await readdir(join(root, "files", name))).toEqual([]);
  });

  test("follows a redirect to a file with the expected hash", async () => {
    const file = serve("/real", TOOL);
    served.set("/moved", { status: 302, location: "/real" });
    expect((await get({ method: "curl", url: `${origin}/moved`, sha256: file.sha256 })).file).toMatch(
      /tool$/,
    );
  });
});

describe("unpack()", () => {
  const attempt = async (bytes: Buffer, limits?: Parameters<typeof unpack>[2]): Promise<unknown> => {
    const place = await mkdtemp(join(folder, "unpack-"));
    await writeFile(join(place, "a"), bytes);
    await mkdir(join(place, "out"));
    return unpack(join(place, "a"), join(place, "out"), limits);
  };

  test.each<[string, TarEntry[]]>([
    ["with a path upwards", [{ path: "../x", body: "" }]],
    ["with a hidden path upwards", [{ path: "a/../../x", body: "" }]],
    ["with an absolute path", [{ path: "/tmp/x", body: "" }]],
    ["with a backslash", [{ path: "..\\x", body: "" }]],
    [
      "with a long path upwards",
      [
        { path: "y", type: "L", body: "../x\0" },
        { path: "z", body: "" },
      ],
    ],
    ["with a link", [{ path: "x", type: "2", link: "/etc/passwd" }]],
    ["with a hard link", [{ path: "x", type: "1", link: "y" }]],
    ["with a device", [{ path: "x", type: "3" }]],
    [
      "with one file twice",
      [
        { path: "x", body: "1" },
        { path: "./x", body: "2" },
      ],
    ],
    ["that ends too early", [{ path: "x", body: "1", size: 9_999 }]],
  ])("refuses an archive %s", async (_, entries) => {
    await expect(attempt(makeTarGz(entries))).rejects.toMatchObject({ code: "INSTALL_FAILED" });
  });

  test("refuses an archive that is damaged, has too many files, or expands too much", async () => {
    const damaged = makeTar([{ path: "x", body: "1" }]);
    damaged[0] = 65;
    await expect(attempt(damaged)).rejects.toThrow("checksum");
    const many = Array.from({ length: 11 }, (_, index) => ({ path: `f${index}` }));
    const limits = { entries: 10, bytes: 1_000, ratio: 200 };
    await expect(attempt(makeTarGz(many), limits)).rejects.toThrow("more than 10 files");
    await expect(attempt(makeTarGz([{ path: "x", body: "a".repeat(2_000) }]), limits)).rejects.toThrow(
      "larger",
    );
    const bomb = makeTarGz([{ path: "x", body: Buffer.alloc(30 * 1024 * 1024) }]);
    await expect(attempt(bomb)).rejects.toThrow("larger");
    await expect(attempt(makeZip([{ path: "../x", body: "x" }]))).rejects.toMatchObject({
      code: "INSTALL_FAILED",
    });
    expect(await attempt(Buffer.from("plain"))).toBe(false);
  });

  test("throws only INSTALL_FAILED for an archive with changed bytes, and closes its files", async () => {
    const whole = makeTar([
      { path: "a/b", body: "one" },
      { path: "n", type: "L", body: `${"d/".repeat(60)}x` },
      { path: "s", body: "two".repeat(300) },
      { path: "p", type: "x", body: "13 path=e/f\n\n" },
      { path: "q", body: "three" },
    ]);
    const zip = makeZip([
      { path: "a/b", body: "one".repeat(50) },
      { path: "c", body: "two", stored: true },
    ]);
    const open = (): number => (existsSync("/proc/self/fd") ? readdirSync("/proc/self/fd").length : 0);
    const before = open();
    await fc.assert(
      fc.asyncProperty(
        fc.boolean(),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }),
        fc.boolean(),
        async (isZip, changes, packed) => {
          const bytes = Buffer.from(isZip ? zip : whole);
          for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
          try {
            await attempt(packed && !isZip ? gzipSync(bytes) : bytes);
          } catch (error) {
            expect(error).toMatchObject({ code: "INSTALL_FAILED" });
          }
        },
      ),
      { numRuns: 150 },
    );
    await vi.waitFor(() => expect(open()).toBeLessThan(before + 20));
  });

  test("safePath() normalizes relative paths, and refuses all others", () => {
    expect(safePath("./a//b/")).toBe("a/b");
    for (const path of ["", "..", "a/..", "C:/x", "a\0b", "a/b.", "a\nb"])
      expect(() => safePath(path)).toThrow();
  });
});

describe("other install methods", () => {
  test("vendored: the program must be executable", async () => {
    const file = join(folder, "vendored");
    await writeFile(file, TOOL);
    await expect(get({ method: "vendored", path: file })).rejects.toMatchObject({ code: "INSTALL_FAILED" });
    await chmod(file, 0o755);
    expect(await get({ method: "vendored", path: file })).toMatchObject({ file, folder: undefined });
  });

  test("package managers are named in the hint, never run; the next method is used", async () => {
    const file = join(folder, "second");
    await writeFile(file, TOOL, { mode: 0o755 });
    const managers: InstallMethod[] = [
      { method: "cargo", package: "tool" },
      { method: "pip", package: "tool==1", user: true },
      { method: "go", package: "x.test/tool" },
      { method: "cargo", package: "tool; rm -rf /" },
    ];
    expect((await get(...managers, { method: "vendored", path: file })).file).toBe(file);
    await expect(get(...managers)).rejects.toMatchObject({
      code: "INSTALL_FAILED",
      message: '"tool" is not installed.',
      hint: "Install it: cargo install tool, or pip install --user tool==1, or go install x.test/tool@latest.",
    });
    const odd = { method: "magic", package: "x" } as unknown as InstallMethod;
    expect((await get(odd, { method: "vendored", path: file })).file).toBe(file);
    expect(seen.map(({ severity, message }) => `${severity}: ${message}`)).toEqual([
      'warning: Portolan does not know the install method "magic", and skips it.',
    ]);
  });

  test("npm: the package provides the program with the name of the command, or its own", async () => {
    const files = { "tool.js": TOOL, "other.js": TOOL };
    registry.publish({ name: "kit", version: "1.0.0", bin: { kit: "other.js", tool: "tool.js" }, files });
    registry.publish({ name: "own", version: "1.0.0", bin: { own: "tool.js" }, files });
    const kit = await get({ method: "npm", package: "kit", global: true });
    expect(kit.args.at(-1)).toMatch(/kit[/\\]tool\.js$/);
    expect(seen[0]?.message).toContain("into its own store");
    expect((await get({ method: "npm", package: "own@^1" })).args.at(-1)).toMatch(/own[/\\]tool\.js$/);
  });
});

describe("a server's program", () => {
  const publish = (version: string): void =>
    registry.publish({
      name: "versioned",
      version,
      bin: { versioned: "v.js" },
      files: { "v.js": `#!/usr/bin/env node\nconsole.log("v${version}", process.argv.slice(2).join());\n` },
    });
  const check = (range: string): LaunchSettings => ({
    versionCheck: { command: "npx versioned --version", parse: "v(\\S+)", range },
  });

  test("comes from the store, and is updated once if its version is not in the range", async () => {
    publish("1.0.0");
    const first = await ensure(check("^1"), "npx", "-y", "versioned", "a");
    expect(first).toMatchObject({
      kind: "npm",
      version: "1.0.0",
      args: [expect.stringMatching(/v\.js$/) as string, "a"],
    });
    publish("2.0.0");
    expect(await ensure(check("^1"), "npx", "-y", "versioned", "a")).toEqual(first);
    expect((await ensure(check("^2"), "npx", "-y", "versioned")).version).toBe("2.0.0");
    await expect(ensure(check("^3"), "npx", "-y", "versioned")).rejects.toMatchObject({
      code: "VERSION_MISMATCH",
      server: "s",
      message: "The version check failed: the version of the program is 2.0.0, which is not in the range ^3.",
    });
  });

  test("is checked by the bin name of its package; the error names a version check that cannot run", async () => {
    registry.publish({
      name: "named-otherwise",
      version: "1.0.0",
      bin: { "its-own-name": "v.js" },
      files: { "v.js": '#!/usr/bin/env node\nconsole.log("v1.4.0");\n' },
    });
    const asked = (command: string): LaunchSettings => ({
      versionCheck: { command, parse: "v(\\S+)", range: "^1.3" },
    });
    expect(await ensure(asked("its-own-name --version"), "npx", "-y", "named-otherwise")).toMatchObject({
      kind: "npm",
    });
    await expect(
      ensure(asked("no-such-name --version"), "npx", "-y", "named-otherwise"),
    ).rejects.toMatchObject({
      code: "SERVER_START_FAILED",
      message:
        'the version check "no-such-name --version" cannot run: cannot start "no-such-name": no such program',
      hint: expect.stringContaining("version_check.cmd") as string,
    });
  });

  test("is the one on the PATH, unless its version is not in the range", async () => {
    const bin = await mkdtemp(join(folder, "bin-"));
    await writeFile(join(bin, "tool"), "#!/bin/sh\necho tool v0.9.0\n", { mode: 0o755 });
    const vendored = join(folder, "better");
    await writeFile(vendored, TOOL, { mode: 0o755 });
    const within = { ...context(), env: { ...context().env, PATH: `${bin}:${process.env.PATH}` } };
    const versionCheck = { command: "tool --version", parse: "v(\\S+)", range: ">=1" };
    const program = parseProgram({ command: "tool", args: ["x"] });
    const install: InstallMethod[] = [{ method: "vendored", path: vendored }];
    expect(await ensureInstalled({ install }, program, within)).toMatchObject({
      file: join(bin, "tool"),
      args: ["x"],
    });
    expect(await ensureInstalled({ install, versionCheck }, program, within)).toMatchObject({
      file: vendored,
      own: undefined,
      version: "1.2.3",
    });
    await expect(
      ensureInstalled({ install: [{ method: "cargo", package: "tool" }], versionCheck }, program, within),
    ).rejects.toMatchObject({
      code: "VERSION_MISMATCH",
      hint: "Install another version: cargo install tool.",
    });
  });

  test("must exist and support the operating system", async () => {
    await expect(ensure({}, "no-such-tool-at-all")).rejects.toMatchObject({
      code: "SERVER_START_FAILED",
      message: 'cannot start "no-such-tool-at-all": no such program',
      data: { reason: "ENOENT" },
    });
    await expect(ensure({ requires: { os: ["plan9"] } }, "node")).rejects.toMatchObject({
      code: "PLATFORM_UNSUPPORTED",
      server: "s",
    });
  });

  test("cannot be a source that npx fetches at each start, such as a git repository", () => {
    for (const args of [["github:someone/thing"], ["--unheard-of", "thing"], ["-c", "ls"]])
      expect(() => parseProgram({ command: "npx", args })).toThrow(/Portolan cannot run this npx command/);
  });

  test("is fetched from the registry in --registry, and stored separately for each registry", async () => {
    registry.publish({ name: "elsewhere", version: "1.0.0", bin: "x.js", files: { "x.js": TOOL } });
    const nowhere = { ...context(), env: { ...context().env, npm_config_registry: "http://127.0.0.1:1/" } };
    const args = [`--registry=${registry.url}`, "elsewhere", "a"];
    const found = await ensureInstalled({}, parseProgram({ command: "npx", args }), nowhere);
    expect(found).toMatchObject({ kind: "npm", version: "1.0.0" });
    expect(found.args.at(-1)).toBe("a");
    await expect(
      ensureInstalled({}, parseProgram({ command: "npx", args: ["elsewhere"] }), nowhere),
    ).rejects.toMatchObject({
      code: "INSTALL_FAILED",
    });
  });

  test("fails with CANCELLED if its installation is aborted", async () => {
    registry.publish({ name: "given-up", version: "1.0.0", bin: "x.js", files: { "x.js": TOOL } });
    const held = registry.hold(/given-up/);
    const abort = new AbortController();
    const program = parseProgram({ command: "npx", args: ["given-up"] });
    const waiting = ensureInstalled({}, program, { ...context(), signal: abort.signal });
    await held.seen;
    abort.abort();
    await expect(waiting).rejects.toMatchObject({ code: "CANCELLED", server: "s" });
    held.release();
  });

  test("is fetched again if its file in the store was changed", async () => {
    const { url, sha256 } = serve("/sealed", TOOL);
    const first = await get({ method: "curl", url, sha256 });
    await writeFile(first.file, "#!/bin/sh\n");
    expect(await get({ method: "curl", url, sha256 })).toEqual(first);
    expect(await readFile(first.file, "utf8")).toBe(TOOL);
  });
});

/** The first file is deflated, the others are stored. */
