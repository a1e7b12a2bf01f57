// Keeps tests out of the user's own folders: what a connection remembers goes to a place of its own.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

process.env.XDG_CACHE_HOME = mkdtempSync(join(tmpdir(), "portolan-test-cache-"));
