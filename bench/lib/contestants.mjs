// The contestants, and the server that each is measured against.

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const ROWS = [
  { name: "bare loop (the limit)", module: "bare-stdio", era: "legacy", role: "limit", only: "stdio" },
  {
    name: "bare loop, batched writes",
    module: "bare-stdio",
    era: "legacy",
    role: "other",
    only: "stdio",
    batch: true,
  },
  { name: "bare undici (the limit)", module: "bare-http", era: "legacy", role: "limit", only: "http" },
  { name: "portolan callTool, legacy", module: "portolan-call-tool", era: "legacy", role: "ours" },
  { name: "portolan callTool, modern", module: "portolan-call-tool", era: "modern", role: "ours" },
  { name: "portolan execute, legacy", module: "portolan-execute", era: "legacy", role: "ours" },
  { name: "portolan execute, modern", module: "portolan-execute", era: "modern", role: "ours" },
  { name: "SDK v1", module: "sdk-v1", era: "legacy", role: "rival" },
  { name: "SDK v2, legacy", module: "sdk-v2", era: "legacy", role: "rival" },
  { name: "SDK v2, modern", module: "sdk-v2", era: "modern", role: "rival" },
];

/** The contestants of one transport; `filter` keeps the limit and the names that contain it. */
export function listContestants({ transport, answer, httpPort, stdioServer = "own-session", filter = "" }) {
  const wanted = ({ name, role, only = transport }) =>
    only === transport && (role === "limit" || name.toLowerCase().includes(filter.toLowerCase()));
  return ROWS.filter(wanted).map(({ name, module, era, role, batch }) => ({
    name,
    role,
    module: `../contestants/${module}.mjs`,
    target:
      transport === "stdio"
        ? {
            transport,
            era,
            batch,
            command: process.execPath,
            args: [here(`../servers/${stdioServer}.mjs`), era],
          }
        : { transport, era, answer, url: `http://127.0.0.1:${httpPort}/${era}/${answer}` },
  }));
}

/** Starts the HTTP echo server that all contestants share; they are measured one at a time. */
export async function startHttpServer() {
  const server = fork(here("../servers/http.mjs"));
  const [{ port }] = await once(server, "message");
  return { port, close: () => server.disconnect() };
}
