// Keeps tests out of the user's own folders: what a connection remembers goes to a place of its own.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

process.env.XDG_CACHE_HOME = mkdtempSync(join(tmpdir(), "portolan-test-cache-"));
process.env.XDG_DATA_HOME = mkdtempSync(join(tmpdir(), "portolan-test-data-"));
// Most tests are about other things than the box, and must pass where there is none; those about it say which one they want.
process.env.PORTOLAN_SANDBOX = "off";
