// Audit log on a disk that fails temporarily: no record is lost, and sync() does not resolve without a flush.

import type * as Fs from "node:fs";
import { fdatasync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Diagnostic } from "../errors/index.ts";
import { openAuditLog } from "./audit-log.ts";
import { verifyAudit } from "./verify.ts";

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof Fs>();
  return {
    ...fs,
    openSync: vi.fn(fs.openSync),
    fdatasync: vi.fn(fs.fdatasync),
    writeSync: vi.fn(fs.writeSync),
  };
});

const entry = () => ({
  type: "call",
  time: new Date().toISOString(),
  method: "tools/call",
  text: "x".repeat(500),
});

async function setUp(maxBytes?: number) {
  const top = mkdtempSync(join(tmpdir(), "portolan-audit-"));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  const folders = { log: join(top, "log"), anchors: join(top, "anchors") };
  const reported: Diagnostic[] = [];
  const forgotten: Diagnostic[] = [];
  const log = await openAuditLog({
    ...{ folders, settings: { maxBytes }, report: (one) => reported.push(one) },
    forget: (isOver) => forgotten.push(...reported.filter(isOver)),
  });
  onTestFinished(() => log.close());
  return { log, folders, reported, forgotten };
}

test("if a rotation cannot open its new file, the next record completes the rotation", async () => {
  const { log, folders, reported } = await setUp(2_000);
  log.append(entry());
  log.append(entry());
  await log.sync();
  vi.mocked(openSync).mockImplementationOnce(() => {
    throw Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
  });
  log.append(entry());
  await expect(log.sync()).rejects.toMatchObject({ code: "AUDIT_FAILED" });
  expect(reported).toMatchObject([{ message: expect.stringContaining("EMFILE") }]);
  log.append(entry());
  await log.sync();
  await log.close();
  expect(await verifyAudit(folders)).toMatchObject([{ records: 6, problems: [] }]);
});

test("after a failed flush, the next sync flushes again", async () => {
  const { log } = await setUp();
  const fail: typeof fdatasync = Object.assign(
    (_fd: number, done: (error: Error | null) => void) => done(new Error("EIO: i/o error")),
    { __promisify__: undefined as never },
  );
  vi.mocked(fdatasync).mockImplementationOnce(fail);
  log.append(entry());
  await expect(log.sync()).rejects.toThrow("EIO");
  const before = vi.mocked(fdatasync).mock.calls.length;
  await log.sync();
  expect(vi.mocked(fdatasync).mock.calls.length).toBe(before + 1);
});

test("a full file that could not be flushed is flushed by the next sync", async () => {
  const { log } = await setUp(2_000);
  log.append(entry());
  log.append(entry());
  await log.sync();
  const failed: number[] = [];
  vi.mocked(fdatasync).mockImplementationOnce((fd, done) => {
    failed.push(fd);
    done(new Error("EIO: i/o error"));
  });
  for (let at = 0; at < 3; at += 1) log.append(entry());
  await log.sync().catch(() => {});
  await log.sync();
  const flushed = vi.mocked(fdatasync).mock.calls.map(([fd]) => fd);
  expect(flushed.filter((fd) => fd === failed[0]).length).toBeGreaterThan(1);
});

test("waiting records are written without a new record when the disk accepts them again", async () => {
  const { log, reported, forgotten } = await setUp();
  vi.mocked(writeSync).mockImplementationOnce(() => {
    throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
  });
  log.append(entry());
  log.append(entry());
  await vi.waitFor(() => expect(reported).toHaveLength(2), 10_000);
  expect(reported).toMatchObject([
    { code: "AUDIT_FAILED", severity: "error", message: expect.stringContaining("ENOSPC") },
    {
      ...{ code: "AUDIT_FAILED", severity: "warning" },
      message: `the audit log ${log.path} can be written again; 2 waiting records were written`,
    },
  ]);
  expect(forgotten).toEqual(reported);
  expect(readFileSync(log.path, "utf8").trim().split("\n")).toHaveLength(3);
});

test("a failed flush is retried without a new record", async () => {
  const { log, reported } = await setUp();
  vi.mocked(fdatasync).mockImplementationOnce((_fd, done) => done(new Error("EIO: i/o error")));
  log.append(entry());
  await vi.waitFor(() => expect(reported).toHaveLength(2), 10_000);
  expect(reported).toMatchObject([
    { severity: "error", message: expect.stringContaining("EIO") },
    { severity: "warning", message: expect.stringContaining("can be written again") },
  ]);
});

test("after more waiting records than memory keeps, the log writes again and counts the lost records", async () => {
  const { log, folders, reported } = await setUp();
  const write = vi.mocked(writeSync).getMockImplementation();
  onTestFinished(() => void vi.mocked(writeSync).mockImplementation(write as typeof writeSync));
  vi.mocked(writeSync).mockImplementation(() => {
    throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
  });
  for (let at = 0; at < 10_001; at += 1) log.append({ type: "call", time: "now" });
  await vi.waitFor(() => expect(reported).toMatchObject([{ message: expect.stringContaining("ENOSPC") }]));
  vi.mocked(writeSync).mockImplementation(write as typeof writeSync);
  log.append(entry());
  await vi.waitFor(() => expect(readFileSync(log.path, "utf8")).toContain('"type":"lost"'), 10_000);
  expect(readFileSync(log.path, "utf8")).toContain('"records":2');
  await log.close();
  expect(await verifyAudit(folders)).toMatchObject([{ records: 10_003, problems: [] }]);
});
