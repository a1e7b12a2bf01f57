// The server that the official conformance suite wants to meet: every tool, prompt and resource that its scenarios name,
// in either era and over either transport. It is written without an SDK, so that it shares no mistake with one.
//
//   node test/conformance/server.mjs --era modern|legacy --transport stdio|http [--port N]
//
// Over HTTP it prints one line, `listening on <url>`, to stdout.

import { parseArgs } from "node:util";
import { legacyHttp } from "./server/http-legacy.mjs";
import { modernHttp } from "./server/http-modern.mjs";
import { listen } from "./server/http.mjs";
import { serveStdio } from "./server/stdio.mjs";
import { createSurface } from "./server/surface.mjs";

const { values: options } = parseArgs({
  options: {
    era: { type: "string", default: "modern" },
    transport: { type: "string", default: "stdio" },
    port: { type: "string", default: "0" },
  },
});
if (!["modern", "legacy"].includes(options.era) || !["stdio", "http"].includes(options.transport)) {
  console.error("usage: server.mjs --era modern|legacy --transport stdio|http [--port N]");
  process.exit(2);
}

const surface = createSurface({ withTasks: options.era === "modern" });
if (options.transport === "stdio") {
  serveStdio(options.era, surface);
} else {
  const serve = options.era === "modern" ? modernHttp(surface) : legacyHttp(surface);
  console.log(`listening on ${await listen(serve, Number(options.port))}`);
}
