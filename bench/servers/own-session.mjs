// Starts the stdio echo server in a session of its own: `node own-session.mjs legacy|modern`.
//
// A client that ends whole process trees, as Portolan does, starts its servers that way; others do not. Linux schedules
// sessions against each other, so on a busy machine this alone can halve the calls per second. Here all clients get it.

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const server = fileURLToPath(new URL("stdio.mjs", import.meta.url));
spawn(process.execPath, [server, ...process.argv.slice(2)], { detached: true, stdio: "inherit" });
