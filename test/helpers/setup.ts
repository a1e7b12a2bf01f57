// Keeps tests out of the user's own folders, and gives every wait the time that a busy machine needs.

import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, vi } from "vitest";

/** Everything that a test file leaves in the temporary folder is removed with it. The name is short: sockets have short paths. */
const before = process.env.TMPDIR;
const folder = mkdtempSync(join(tmpdir(), "ptl-"));
for (const [variable, name] of [
  ["TMPDIR", "tmp"],
  ["XDG_CACHE_HOME", "cache"],
  ["XDG_DATA_HOME", "data"],
] as const) {
  mkdirSync(join(folder, name));
  process.env[variable] = join(folder, name);
}
// Tests that play an ordinary user share the temporary folder, as on any machine.
chmodSync(folder, 0o755);
chmodSync(join(folder, "tmp"), 0o1777);
afterAll(() => {
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});
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
