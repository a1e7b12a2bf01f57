// Store: what an entry without its list of files means.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openStore, type Store, type StoreRecord } from "./store.ts";

const KEY = "k".repeat(40);

function newStore(): Store {
  const root = mkdtempSync(join(tmpdir(), "portolan-store-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return openStore(root, "files");
}

const install = (store: Store, spec: string): Promise<StoreRecord> =>
  store.add(spec, async ({ folder }) => {
    writeFileSync(join(folder, "main.js"), "one");
    return { name: "tiny", version: "1.0.0", integrity: "sha512-x", key: KEY, sealed: ["main.js"] };
  });

function removeList(path: string): void {
  const { files: _files, ...others } = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  writeFileSync(path, JSON.stringify(others));
}

test("verify() reports a record without its list of files as changed", async () => {
  const store = newStore();
  await install(store, "tiny@1");
  expect(await store.verify("tiny@1")).toEqual({ faults: [], isComplete: true });
  removeList(join(store.folderOf(KEY), ".portolan.json"));
  expect(await store.verify("tiny@1")).toEqual({
    faults: [{ path: ".portolan.json", state: "changed" }],
    isComplete: false,
  });
});

test("verify() accepts an entry of an older version without a list of files, also for another spec", async () => {
  const store = newStore();
  await install(store, "tiny@1");
  removeList(join(store.folderOf(KEY), ".portolan.json"));
  await install(store, "tiny@latest");
  expect(await store.verify("tiny@latest")).toEqual({ faults: [], isComplete: false });
});
