// A thousand crashes and full disks while the lock file and the store are written: the old or the new content is there, and the next
// command works. Faults are injected into every write of this process; the last test kills real processes.

import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import {
  keepDocument,
  type Lock,
  openLockedPackage,
  readDocument,
  readLock,
  renderLock,
  updateLock,
} from "../../src/packages/index.ts";
import { type PackageReference, parsePackageReference } from "../../src/model/index.ts";
import { makeTarGz } from "../fixtures/lib/tar.mjs";
import { portolan, start } from "../helpers/cli.ts";
import {
  filePackage,
  SERVER_SCRIPT,
  sri,
  startFileServer,
  writePackageWorkspace,
} from "../helpers/packages.ts";

/** `crash`: from the n-th write on, the disk stays as it is. `full`: only removing works. `error`: the n-th write fails. */
type Fault = "crash" | "full" | "error";

const disk = vi.hoisted(() => ({ fault: undefined as string | undefined, at: 0, writes: 0, torn: 0 }));

// The lock of this process counts as the lock of a dead one, as it would after a crash.
vi.mock("../../src/base/files/process-identity.ts", async (original) => ({
  ...(await original<object>()),
  stateOf: async () => "dead",
}));

vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof import("node:fs/promises")>();
  const fail = (code: string): Error => Object.assign(new Error(`${code}: injected`), { code });
  /** Counts a write, and decides whether it happens. */
  const turn = (isRemoval = false): void => {
    if (disk.fault === undefined) return;
    disk.writes += 1;
    if (disk.fault === "crash" && disk.writes >= disk.at) throw fail("ECRASH");
    if (disk.fault === "full" && disk.writes >= disk.at && !isRemoval) throw fail("ENOSPC");
    if (disk.fault === "error" && disk.writes === disk.at) throw fail("EIO");
  };
  const functions = real as unknown as Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>;
  const counted = (name: string, isRemoval = false) => {
    return async (...args: unknown[]) => {
      turn(isRemoval);
      return functions[name]?.(...args);
    };
  };
  const open: typeof real.open = async (path, flags, mode) => {
    const isWrite = flags !== undefined && flags !== "r" && (typeof flags !== "number" || (flags & 3) !== 0);
    if (isWrite) turn();
    const file = await real.open(path, flags, mode);
    if (!isWrite) return file;
    return new Proxy(file, {
      get(target, key) {
        const value = Reflect.get(target, key) as unknown;
        if (typeof value !== "function") return value;
        return async (...args: unknown[]) => {
          if (key === "write" || key === "writeFile" || key === "sync") {
            try {
              turn();
            } catch (error) {
              // A write that fails may have written a part.
              if (key === "writeFile")
                await target.write(Buffer.from(args[0] as Uint8Array).subarray(0, disk.torn));
              throw error;
            }
          }
          return Reflect.apply(value, target, args) as unknown;
        };
      },
    });
  };
  return {
    ...real,
    open,
    ...Object.fromEntries(
      ["rename", "mkdir", "writeFile", "link", "copyFile", "chmod"].map((name) => [name, counted(name)]),
    ),
    rm: counted("rm", true),
  };
});

// Memory, where it is possible: the faults are injected, so that a real disk would add nothing but time.
const place = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const top = mkdtempSync(join(place, "portolan-crashes-"));
afterAll(() => rmSync(top, { recursive: true, force: true }));
let injected = 0;

/**
 * Runs `work` with a fault at its first write, its second, and so on, until it ends before the fault. Each run begins with a copy of
 * the folder `before`.
 */
async function withFaults(
  fault: Fault,
  work: (folder: string) => Promise<unknown>,
  check: (folder: string) => Promise<void>,
  before?: string,
  torn = 0,
): Promise<void> {
  for (let at = 1; ; at += 1) {
    const folder = mkdtempSync(join(top, "run-"));
    if (before !== undefined) cpSync(before, folder, { recursive: true });
    Object.assign(disk, { fault, at, torn, writes: 0 });
    await work(folder).catch(() => {});
    const isOver = disk.writes < at;
    disk.fault = undefined;
    await check(folder);
    rmSync(folder, { recursive: true, force: true });
    if (isOver) return;
    injected += 1;
    expect(at).toBeLessThan(500);
  }
}

const lockOf = (version: string): Lock => ({
  lockfileVersion: 1,
  servers: {
    one: {
      package: { name: "@a/b-mcp", version, source: "npm:b@1.0.0", integrity: sri("x"), metadata: sri("y") },
      tools: { echo: `p1-${version}` },
    },
  },
});

const FAULTS: readonly Fault[] = ["crash", "full", "error"];

it.each(FAULTS)("after a fault, the lock file has the old or the new content: %s", async (fault) => {
  const [before, after] = ["1.0.0", "2.0.0"].map((version) => renderLock(lockOf(version)));
  const prepared = mkdtempSync(join(top, "prepared-"));
  await updateLock(join(prepared, "portolan.lock"), () => lockOf("1.0.0"));
  for (let torn = 0; torn < 180; torn += 10)
    await withFaults(
      fault,
      (folder) => updateLock(join(folder, "portolan.lock"), () => lockOf("2.0.0")),
      async (folder) => {
        const file = join(folder, "portolan.lock");
        expect([before, after]).toContain(readFileSync(file, "utf8"));
        await readLock(file);
        await updateLock(file, () => lockOf("2.0.0"));
        expect(readFileSync(file, "utf8")).toBe(after);
        expect(readdirSync(folder).filter((name) => !/\.lock\.[\w-]+\.(tmp|claim)(\.|$)/.test(name))).toEqual(
          ["portolan.lock"],
        );
      },
      prepared,
      torn,
    );
});

it.each(FAULTS)("after a fault, a metadata document is complete or missing: %s", async (fault) => {
  const bytes = Buffer.from("a document ".repeat(1_000));
  for (let torn = 0; torn < 8; torn += 1)
    await withFaults(
      fault,
      (root) => keepDocument(bytes, { root }),
      async (root) => {
        const found = await readDocument(sri(bytes), { root });
        expect(found === undefined || found.equals(bytes)).toBe(true);
        await keepDocument(bytes, { root });
        expect(await readDocument(sri(bytes), { root })).toEqual(bytes);
      },
      undefined,
      torn,
    );
});

it.each(FAULTS.flatMap((fault) => ["one file", "an archive"].map((kind) => [fault, kind] as const)))(
  "after a fault, a package is installed completely or not at all: %s, %s",
  async (fault, kind) => {
    const files = await startFileServer();
    const honest =
      kind === "one file"
        ? SERVER_SCRIPT
        : makeTarGz([
            { path: "package/", type: "5" },
            { path: "package/server.js", body: SERVER_SCRIPT, mode: 0o755 },
            { path: "package/lib/more.js", body: "more" },
          ]);
    const document = filePackage(files.serve("/file", honest), honest);
    const prepared = mkdtempSync(join(top, "prepared-"));
    await writePackageWorkspace(document, { folder: prepared });
    const reference = parsePackageReference("@alice/github-mcp@^1.0.0") as PackageReference;
    const open = (folder: string, install = true): ReturnType<typeof openLockedPackage> =>
      openLockedPackage(
        { server: "tiny", reference, lock: { file: join(folder, "portolan.lock"), server: "tiny" } },
        { root: join(folder, "data", "portolan", "store") },
        { install },
      );
    for (const torn of [0, 100])
      await withFaults(
        fault,
        (folder) => open(folder),
        async (folder) => {
          const { program } = await open(folder, false);
          if (program.kind === "file")
            expect(readFileSync(program.args[0] ?? "", "utf8")).toBe(SERVER_SCRIPT);
          const installed = (await open(folder)).program;
          expect(installed.kind === "file" && readFileSync(installed.args[0] ?? "", "utf8")).toBe(
            SERVER_SCRIPT,
          );
          const root = join(folder, "data", "portolan", "store", "files");
          expect(readdirSync(join(root, "entries"))).toHaveLength(1);
          expect(readdirSync(join(root, "work")).filter((name) => !name.includes(".lock"))).toEqual([]);
        },
        prepared,
        torn,
      );
  },
);

it("the tests above injected at least a thousand faults", () => {
  expect(injected).toBeGreaterThanOrEqual(1_000);
});

it("a command that is killed at any moment leaves nothing broken for the next one", async () => {
  const files = await startFileServer();
  const honest = makeTarGz([{ path: "server.js", body: SERVER_SCRIPT }]);
  const folder = mkdtempSync(join(top, "killed-"));
  mkdirSync(join(folder, "data"));
  const document = filePackage(files.serve("/file", honest), honest);
  await writePackageWorkspace(document, { folder });
  const env = { XDG_DATA_HOME: join(folder, "data") };
  let first: () => void = () => {};
  const asked = (): Promise<void> => new Promise((resolve) => (first = resolve));
  files.serve("/file", (_, response) => {
    first();
    response.end(honest);
  });
  for (let delay = 0; delay < 6; delay += 1) {
    rmSync(join(folder, "data", "portolan", "store", "files"), { recursive: true, force: true });
    const arrived = asked();
    const { child, done } = start(["install", "--json"], { cwd: folder, env });
    await arrived;
    // Another moment of the installation each time.
    setTimeout(() => child.kill("SIGKILL"), delay * 4);
    await done;
    const again = await portolan(["install", "--frozen", "--json"], { cwd: folder, env });
    expect({ code: again.code, out: again.out }).toMatchObject({ code: 0 });
  }
});
