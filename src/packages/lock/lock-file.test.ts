// The lock file: stable text, merges, broken files, processes that write at once or are killed.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { buildModule } from "../../../test/helpers/build-module.ts";
import { lockFileOf, parseLock, readLock, renderLock, updateLock } from "./lock-file.ts";
import type { Lock } from "./schema.ts";

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "portolan-lock-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const LOCK: Lock = {
  lockfileVersion: 1,
  servers: {
    zoo: { tools: { b: "p1-2", a: "p1-1" } },
    github: {
      package: {
        name: "@alice/github-mcp",
        version: "1.0.0",
        source: "npm:@alice/github-mcp@1.0.0",
        integrity: "sha256-Qw1bHtLNfhLjfW5V7HgqTB3G6HgpTbSjs8yH4rPkLJI=",
        provenance: [{ kind: "npm-provenance", signer: "https://github.com/alice/github-mcp" }],
        permissions: ["github-api", "network"],
      },
      tools: { create_issue: "p1-3" },
    },
  },
};

test("the lock file is sorted, and reading it gives the same content", () => {
  const text = renderLock(LOCK);
  expect(text.indexOf('"github"')).toBeLessThan(text.indexOf('"zoo"'));
  expect(text.split("\n").filter((line) => line.includes("p1-"))).toEqual([
    '        "create_issue p1-3"',
    '        "a p1-1",',
    '        "b p1-2"',
  ]);
  const { lock, diagnostics } = parseLock(text, "portolan.lock");
  expect(diagnostics).toEqual([]);
  expect(lock && renderLock(lock)).toBe(text);
});

test("server and tool names of any form survive writing and reading", () => {
  const alias = fc
    .stringMatching(/^[a-z][a-z0-9-]{0,20}$/)
    .filter((name) => name !== "constructor" && name !== "prototype");
  const word = fc.oneof(
    fc.constantFrom("constructor", "__proto__", "a b", "p1-x", "ünï 漢"),
    fc.string({ minLength: 1 }).filter((name) => !/[\0\n\r\u2028\u2029]/.test(name)),
  );
  const tools = fc.dictionary(word, fc.constant("p1-x"), { noNullPrototype: true });
  fc.assert(
    fc.property(
      fc.dictionary(
        alias,
        tools.map((pins) => ({ tools: pins })),
        { noNullPrototype: true },
      ),
      (servers) => {
        const { lock, diagnostics } = parseLock(renderLock({ lockfileVersion: 1, servers }), "portolan.lock");
        expect(diagnostics).toEqual([]);
        expect(lock?.servers).toEqual(servers);
      },
    ),
  );
});

test("a missing file is an empty lock, and an unchanged lock is not written", async () => {
  const file = lockFileOf(folder());
  expect(await readLock(file)).toEqual({ lockfileVersion: 1, servers: {} });
  await updateLock(file, (lock) => lock);
  expect(() => readFileSync(file)).toThrow();
  await updateLock(file, () => LOCK);
  expect(readFileSync(file, "utf8")).toBe(renderLock(LOCK));
});

test.each([
  ["<<<<<<< HEAD\n{}", /portolan\.lock:1:/],
  ['{ "lockfileVersion": 2, "servers": {} }', /lockfileVersion must be 1/],
  ['{ "lockfileVersion": 1, "servers": { "a": { "tools": ["x"] } } }', /cannot be "x"/],
  ["[]", /must be an object/],
])("an invalid lock file is an error, and is not overwritten: %j", async (text, expected) => {
  const file = lockFileOf(folder());
  writeFileSync(file, text);
  await expect(readLock(file)).rejects.toThrow(expected);
  await expect(updateLock(file, () => LOCK)).rejects.toThrow(expected);
  expect(readFileSync(file, "utf8")).toBe(text);
});

test("a failed update leaves the lock file unchanged", async () => {
  const file = lockFileOf(folder());
  await updateLock(file, () => LOCK);
  await expect(updateLock(file, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await readLock(file)).toEqual(LOCK);
});

describe("several processes", () => {
  let built: string;
  let module: string;
  beforeAll(async () => {
    built = mkdtempSync(join(tmpdir(), "portolan-lock-built-"));
    module = await buildModule(new URL("lock-file.ts", import.meta.url), built);
  });
  afterAll(() => rmSync(built, { recursive: true, force: true }));

  /** A process that adds servers `<name>0`, `<name>1`, … one after the other. */
  const start = (file: string, name: string, count: number): ChildProcess => {
    const script = `
      const { updateLock } = await import(${JSON.stringify(module)});
      for (let n = 0; n < ${count}; n += 1)
        await updateLock(${JSON.stringify(file)}, ({ servers }) => ({
          lockfileVersion: 1,
          servers: { ...servers, ["${name}" + n]: { tools: { t: "p1-x" } } },
        }));`;
    return spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "ignore", "inherit"],
    });
  };

  test("that write at once lose nothing", async () => {
    const file = lockFileOf(folder());
    const writers = ["a", "b", "c", "d"].map((name) => once(start(file, name, 10), "close"));
    expect((await Promise.all(writers)).map(([code]) => code as unknown)).toEqual([0, 0, 0, 0]);
    expect(Object.keys((await readLock(file)).servers)).toHaveLength(40);
  });

  test("that are killed at any moment leave a complete file, and the next process can write", async () => {
    const place = folder();
    const file = lockFileOf(place);
    await updateLock(file, () => LOCK);
    for (let n = 0; n < 12; n += 1) {
      const child = start(file, `k${n}-`, 1_000);
      const before = readFileSync(file, "utf8");
      // Killed after its first write, at a moment that differs with each round.
      await expect.poll(() => readFileSync(file, "utf8") !== before).toBe(true);
      for (let turn = 0; turn < n; turn += 1) await new Promise(setImmediate);
      child.kill("SIGKILL");
      await once(child, "close");
      expect((await readLock(file)).servers).toHaveProperty("github");
    }
    await updateLock(file, () => LOCK);
    // Files of the lock itself are removed a minute later.
    expect(readdirSync(place).filter((name) => !name.startsWith("portolan.lock.lock."))).toEqual([
      "portolan.lock",
    ]);
  });
});
