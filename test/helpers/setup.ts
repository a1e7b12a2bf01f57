// Keeps tests out of the user's own folders, and gives every wait the time that a busy machine needs.

import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, vi } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    /** It passed in a run before this one, as scripts/count-reporter.mjs recorded it, and is left out. */
    passedBefore?: boolean;
  }
}

process.env.XDG_CACHE_HOME = mkdtempSync(join(tmpdir(), "portolan-test-cache-"));
process.env.XDG_DATA_HOME = mkdtempSync(join(tmpdir(), "portolan-test-data-"));
process.env.XDG_STATE_HOME = mkdtempSync(join(tmpdir(), "portolan-test-state-"));
// Most tests are about other things than the sandbox, and must pass where there is none; those about it say which one they want.
process.env.PORTOLAN_SANDBOX = "off";

/** Vitest's own default is one second, which a busy machine exceeds without any fault. */
const WAIT_MS = 30_000;
const { waitFor } = vi;
// Files of one process share `vi`, so that it may have been wrapped before.
if (waitFor.name !== "waitPatiently")
  vi.waitFor = function waitPatiently(callback, limit = WAIT_MS) {
    return waitFor(callback, typeof limit === "number" ? limit : { timeout: WAIT_MS, ...limit });
  };

if (process.env.TEST_LEAVE_OUT) {
  const { passed } = JSON.parse(readFileSync(process.env.TEST_LEAVE_OUT, "utf8")) as {
    readonly passed: Readonly<Record<string, readonly string[]>>;
  };
  beforeEach(({ task, skip }) => {
    if (passed[task.file.name]?.includes(task.fullTestName) !== true) return;
    task.meta.passedBefore = true;
    skip();
  });
}
