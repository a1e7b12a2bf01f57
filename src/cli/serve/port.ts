// Checks that the gateway can listen at its port, before anything is started for it.

import { createServer } from "node:net";
import { cannotListen } from "../../errors/index.ts";

/** Throws when the port cannot be listened at. */
export function checkPort(host: string, port: number): Promise<void> {
  if (port === 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (cause: NodeJS.ErrnoException) => reject(cannotListen(host, port, cause)));
    server.listen(port, host, () => server.close(() => resolve()));
  });
}
