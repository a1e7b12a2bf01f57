// Gives a whole run of tests one temporary folder, and removes it with everything that tests left there.

import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

const PREFIX = "ptl-";

/**
 * Vitest calls it before the first test, and what it returns after the last. The processes of the tests inherit the
 * variable. The name is short, because the paths of sockets are.
 */
export function setup(): () => void {
  const before = process.env.TMPDIR;
  // Vitest calls this for each project of its config; the first call is enough.
  if (basename(before ?? "").startsWith(PREFIX)) return () => {};
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  // Some tests play an ordinary user, who may use the temporary folder of any machine.
  chmodSync(folder, 0o1777);
  process.env.TMPDIR = folder;
  return () => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
}
