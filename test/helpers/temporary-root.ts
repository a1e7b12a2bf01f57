// Gives a whole run of tests one temporary folder, and removes it with everything that tests left there.

import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Vitest calls it before the first test, and what it returns after the last. The processes of the tests inherit the variable. The name is short, because the paths of sockets are. */
export function setup(): () => void {
  const before = process.env.TMPDIR;
  const folder = mkdtempSync(join(tmpdir(), "ptl-"));
  // Some tests play an ordinary user, who may use the temporary folder of any machine.
  chmodSync(folder, 0o1777);
  process.env.TMPDIR = folder;
  return () => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
}
