// Audit log on a disk that fails for a moment: no record is lost, and no flush is claimed that did not happen.

import type * as Fs from "node:fs";
import { fdatasync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Diagnostic } from "../errors/index.ts";
import { openAuditLog } from "./audit-log.ts";
import { verifyAudit } from "./verify.ts";

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof Fs>();
  return { ...fs, openSync: vi.fn(fs.openSync), fdatasync: vi.fn(fs.fdatasync) };
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
  const log = await openAuditLog({ folders, settings: { maxBytes }, report: (one) => reported.push(one) });
  onTestFinished(() => log.close());
  return { log, folders, reported };
}

test("a rotation whose new file cannot be opened once is finished with the next line", async () => {
  const { log, folders, reported } = await setUp(2_000);
  log.append(entry());
  log.append(entry());
  await log.sync();
  vi.mocked(openSync).mockImplementationOnce(() => {
    throw Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
  });
  log.append(entry());
  await expect(log.sync()).rejects.toMatchObject({ code: "FILE_FAILED" });
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
