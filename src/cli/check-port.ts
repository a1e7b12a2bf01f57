// Whether a port can be listened at, before anything is started for it.

import { createServer } from "node:net";
import { PortolanError } from "../errors/index.ts";

export function checkPort(host: string, port: number): Promise<void> {
  if (port === 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const [why, hint] = EXPLAINED[cause.code ?? ""] ?? [cause.message, "Check --host and --port."];
      reject(new PortolanError("USAGE", `Cannot listen at ${host}:${port}: ${why}.`, { hint, cause }));
    });
    server.listen(port, host, () => server.close(() => resolve()));
  });
}

const EXPLAINED: Readonly<Record<string, readonly [string, string]>> = {
  EADDRINUSE: [
    "the port is taken",
    "A gateway may be running already. Otherwise choose another port: --port 7421, or --port 0 for any free one.",
  ],
  EACCES: ["this user may not", "Ports below 1024 belong to the system; choose a higher one with --port."],
  EADDRNOTAVAIL: [
    "this computer does not have that address",
    "Use --host 127.0.0.1 for this computer alone, or 0.0.0.0 for every address it has.",
  ],
  ENOTFOUND: ["there is no such host", "Give an address of this computer: --host 127.0.0.1"],
};
