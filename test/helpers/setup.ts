// Keeps tests out of the user's own folders, and gives every wait the time that a busy machine needs.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";

process.env.XDG_CACHE_HOME = mkdtempSync(join(tmpdir(), "portolan-test-cache-"));
process.env.XDG_DATA_HOME = mkdtempSync(join(tmpdir(), "portolan-test-data-"));
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
