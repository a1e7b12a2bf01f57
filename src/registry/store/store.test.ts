// The store: full disks at every write, expiry and renewal of the index, tokens, counts, uploads, look-alikes.

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { integrityOf, toSri } from "../../base/text/integrity.ts";
import { verifyIndex } from "../catalog/signed-index.ts";
import { layoutOf } from "./layout.ts";
import { openStore } from "./store.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portolan-registry-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const NAME = "@alice/github-mcp";

function document(version: string, change: (value: Record<string, unknown>) => void = () => {}): string {
  const value = {
    ...{
      name: NAME,
      type: "mcp-server",
      version,
      description: "GitHub for scripts",
      author: { name: "Alice" },
    },
    mcp: { version: "2025-11-25", transport: ["stdio"], executable: "github-mcp" },
    source: {
      ...{ type: "npm", url: "npm:github-mcp@1.0.0", size: 3 },
      hash: toSri(integrityOf(Buffer.from("abc"))),
    },
    security: { permissions: [] },
    metadata: { license: "MIT", keywords: ["github"], downloads: 9, stars: 9, publishedAt: "2001-01-01" },
  };
  change(value);
  return JSON.stringify(value);
}

test("the registry sets dates and counts itself, and a published version can be read back", async () => {
  const now = new Date("2026-06-01T00:00:00Z");
  const store = await openStore(folder, { now: () => now });
  const { integrity } = await store.publish(document("1.0.0"), {});
  const { metadata } = await store.readVersion(integrity);
  expect(metadata).toEqual({
    license: "MIT",
    keywords: ["github"],
    publishedAt: now.toISOString(),
    updatedAt: now.toISOString(),
  });
});

test("a failed write leaves the old index, and the next publication works", async () => {
  await (await openStore(folder)).publish(document("1.0.0"), {});
  for (let failing = 1; failing <= 2; failing += 1) {
    for (const kind of ["error", "short"] as const) {
      let writes = 0;
      const writeBytes = async (file: FileHandle, bytes: Uint8Array): Promise<void> => {
        writes += 1;
        if (writes !== failing) return file.writeFile(bytes);
        await file.writeFile(bytes.subarray(0, bytes.length / 2));
        if (kind === "error") throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
      };
      const store = await openStore(folder, { writeBytes });
      await expect(store.publish(document("2.0.0"), {})).rejects.toThrow();
      const { index } = await (await openStore(folder)).read();
      expect(Object.keys(index.packages[NAME]?.versions ?? {})).not.toContain("2.0.0");
      expect(readdirSync(store.layout.public).sort()).toEqual(["files", "index.jsonl", "versions"]);
    }
  }
  await (await openStore(folder)).publish(document("2.0.0"), {});
});

test("the index is signed again before it expires, with a higher number", async () => {
  let now = new Date("2026-06-01T00:00:00Z");
  const store = await openStore(folder, { now: () => now });
  const first = (await store.read()).index;
  now = new Date("2026-06-02T00:00:00Z");
  expect((await store.read()).index.sequence).toBe(first.sequence);
  now = new Date("2026-06-03T00:00:00Z");
  const second = (await store.read()).index;
  expect(second.sequence).toBeGreaterThan(first.sequence);
  expect(Date.parse(second.expiresAt)).toBeGreaterThan(Date.parse(first.expiresAt));
});

test("any changed byte of the index is detected", async () => {
  const store = await openStore(folder);
  await store.publish(document("1.0.0"), {});
  const bytes = readFileSync(store.layout.index);
  for (let at = 0; at < bytes.length; at += 7) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(() => verifyIndex(changed, "index"), `byte ${at}`).toThrow();
  }
  expect(() => verifyIndex(bytes.subarray(0, -1), "index")).toThrow();
});

test("uploads with another size or hash leave nothing behind", async () => {
  const store = await openStore(folder);
  async function* content(text: string): AsyncIterable<Uint8Array> {
    yield Buffer.from(text);
  }
  const expected = integrityOf(Buffer.from("abc"));
  const options = { expected, size: 3, maxBytes: 10 };
  await expect(store.upload(content("abd"), options)).rejects.toThrow("a file with the hash");
  await expect(store.upload(content("ab"), options)).rejects.toThrow("2 bytes");
  await expect(store.upload(content("abcd"), options)).rejects.toThrow("more than 3");
  await expect(store.upload(content("abc"), { ...options, size: 11 })).rejects.toMatchObject({
    code: "MESSAGE_TOO_LARGE",
  });
  expect(readdirSync(store.layout.files)).toEqual([]);
  expect(readdirSync(store.layout.uploads)).toEqual([]);
  expect(await store.upload(content("abc"), options)).toBe(true);
  expect(await store.upload(content("abc"), options)).toBe(false);
  expect((await store.publish(document("1.0.0"), {})).files).toEqual([toSri(expected)]);
});

test("tokens are stored as hashes and own their scope", async () => {
  const { tokens } = await openStore(folder);
  const { token, entry } = await tokens.add("alice");
  expect(readFileSync(layoutOf(folder).tokens, "utf8")).not.toContain(token);
  expect(await tokens.find(token)).toMatchObject({ scope: "alice" });
  expect(await tokens.find(`${token}x`)).toBeUndefined();
  expect(await tokens.remove(entry.id)).toBe(true);
  expect(await tokens.find(token)).toBeUndefined();
  await expect(tokens.add("Älice")).rejects.toThrow("is not a scope");
});

test("download counts survive a restart, and those of two processes add up", async () => {
  const [one, two] = [await openStore(folder), await openStore(folder)];
  one.counts.add(NAME, "1.0.0");
  two.counts.add(NAME, "1.0.0");
  two.counts.add(NAME, "1.1.0");
  await Promise.all([one.close(), two.close()]);
  expect((await openStore(folder)).counts.of(NAME)).toEqual({ "1.0.0": 2, "1.1.0": 1 });
});

test("a version that differs only in its build metadata is refused, and so is a tag that is a range", async () => {
  const store = await openStore(folder);
  await store.publish(document("1.0.0+a"), {});
  await expect(store.publish(document("1.0.0+b"), {})).rejects.toMatchObject({
    data: { status: 409 },
    message: `${NAME}@1.0.0+a was published before.`,
    hint: expect.stringContaining("Build metadata (+…) does not make another version: 1.0.0+b is") as string,
  });
  await expect(store.publish(document("1.0.0+a"), {})).rejects.toMatchObject({
    hint: expect.stringContaining("A version never changes.") as string,
  });
  await expect(store.publish(document("1.0.1"), { tag: "v1" })).rejects.toThrow("cannot be a tag");
});

test("search ranks names before descriptions, and marks look-alike scopes", async () => {
  let now = new Date("2026-01-01T00:00:00Z");
  const store = await openStore(folder, { now: () => now });
  const named = (name: string, description: string): string =>
    document("1.0.0", (value) => Object.assign(value, { name, description, metadata: { license: "MIT" } }));
  await store.publish(named("@alice/github-mcp", "Issues"), {});
  now = new Date("2026-01-02T00:00:00Z");
  await store.publish(named("@a1ice/github-mcp", "Issues"), {});
  await store.publish(named("@bob/notes-mcp", "Notes in a GitHub repository"), {});
  const { results } = (await store.search()).search("github");
  expect(results.map(({ name, looksLike }) => [name, looksLike])).toEqual([
    ["@alice/github-mcp", undefined],
    ["@a1ice/github-mcp", "@alice"],
    ["@bob/notes-mcp", undefined],
  ]);
});

test("files that a killed process left are removed a day later, and files of the index stay", async () => {
  let now = new Date();
  const store = await openStore(folder, { now: () => now });
  await store.publish(document("1.0.0"), {});
  const kept = readdirSync(store.layout.versions);
  const stray = [`sha256-${"0".repeat(64)}.json`, `${kept[0] ?? ""}.0f0f.tmp`];
  for (const name of stray) writeFileSync(join(store.layout.versions, name), "{}");
  await openStore(folder, { now: () => now });
  expect(readdirSync(store.layout.versions)).toHaveLength(3);
  now = new Date(Date.now() + 25 * 60 * 60 * 1_000);
  await openStore(folder, { now: () => now });
  expect(readdirSync(store.layout.versions)).toEqual(kept);
});

test("a missing index is an error, and no package is deleted", async () => {
  await (await openStore(folder)).publish(document("1.0.0"), {});
  const { index, versions } = layoutOf(folder);
  const before = readdirSync(versions);
  rmSync(index);
  await expect(openStore(folder)).rejects.toMatchObject({
    code: "FILE_FAILED",
    message: `${index} is missing, but ${versions} contains packages.`,
  });
  expect(readdirSync(versions)).toEqual(before);
});

test("the error of a damaged token file has a hint with the folder of the registry", async () => {
  const store = await openStore(folder);
  await store.tokens.add("alice", {});
  writeFileSync(layoutOf(folder).tokens, "{}");
  await expect(store.tokens.list()).rejects.toMatchObject({
    message: expect.stringContaining("is not a list of tokens") as string,
    hint: expect.stringContaining(`portolan registry token add <scope> --folder ${folder}`) as string,
  });
});
