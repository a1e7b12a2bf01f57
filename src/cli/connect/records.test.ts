import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { recordState } from "./overview.ts";
import { type ConnectionRecord, hashOf, openRecords, type Records } from "./records.ts";

let folder: string;
let records: Records;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "portolan-records-"));
  records = await openRecords(join(folder, "connections"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const record = (before: string | undefined, after: string): ConnectionRecord => ({
  client: "cursor",
  file: "/home/me/.cursor/mcp.json",
  workspace: "/home/me/mcp",
  connectedAt: "2026-01-01T00:00:00.000Z",
  before: before === undefined ? undefined : hashOf(before),
  after: hashOf(after),
  entry: { container: ["mcpServers"], name: "portolan" },
  value: { command: "node" },
  removed: [],
  inputs: [],
});

const stop = (): Promise<never> => Promise.reject(new Error("power cut"));
const done = (): Promise<void> => Promise.resolve();

describe("records of connected clients", () => {
  it("a crash before the file is written leaves a record and the earlier content", async () => {
    const first = record("one", "two");
    await expect(records.save({ record: first, before: "one", previous: undefined }, stop)).rejects.toThrow();
    const found = await records.find(first.file, hashOf("one"));
    expect(found).toEqual(first);
    expect(recordState(first, "one")).toBe("not-connected");
    expect(await records.readBefore(first)).toBe("one");
  });

  it("a crash during a second connect keeps the first record", async () => {
    const [first, second] = [record("one", "two"), record("edited", "three")];
    await records.save({ record: first, before: "one", previous: undefined }, done);
    await expect(records.save({ record: second, before: "edited", previous: first }, stop)).rejects.toThrow();
    const now = await records.find(first.file, hashOf("two"));
    expect(now).toEqual(first);
    expect(await records.readBefore(first)).toBe("one");
    expect(await records.find(first.file, hashOf("three"))).toEqual(second);
    await records.save({ record: second, before: "edited", previous: first }, done);
    const [own = ""] = readdirSync(records.folder);
    expect(readdirSync(join(records.folder, own)).toSorted()).toEqual(
      [`${hashOf("edited")}.before`, "record.json"].toSorted(),
    );
  });

  it("only the user can read the files, and a damaged record is an error", async () => {
    const first = record("one", "two");
    await records.save({ record: first, before: "one", previous: undefined }, done);
    const [own = ""] = readdirSync(records.folder);
    for (const name of readdirSync(join(records.folder, own)))
      expect(statSync(join(records.folder, own, name)).mode & 0o77).toBe(0);
    const backup = records.backupOf(first) ?? "";
    writeFileSync(backup, "other");
    await expect(records.readBefore(first)).rejects.toThrow(/its content has changed/);
    for (const text of ["{", "[]", '{"version":2}', '{"version":1,"client":"toString"}']) {
      writeFileSync(join(records.folder, own, "record.json"), text);
      await expect(records.find(first.file, undefined)).rejects.toThrow(
        /cannot read its record of a connected client/,
      );
      expect(await records.list()).toEqual([]);
    }
  });

  it("recordState compares the hash of the file with the record", () => {
    const text = `{ "mcpServers": { "portolan": { "command": "node", "disabled": true } } }`;
    expect(recordState(record("one", "two"), "two")).toBe("connected");
    expect(recordState(record("one", "two"), text)).toBe("changed");
    expect(recordState(record("one", "two"), "{}")).toBe("removed");
    expect(recordState(record("one", "two"), undefined)).toBe("gone");
    expect(recordState(record(undefined, "two"), undefined)).toBe("not-connected");
  });
});
