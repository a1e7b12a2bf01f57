// A port for a program that cannot choose one itself.

import { once } from "node:events";
import { createServer } from "node:net";

/** Systems take the ports of connections, and of servers without a fixed port, from above this. */
const END = 32_768;
const COUNT = 12_000;

/** A free port that no other connection or server takes by chance before the program listens. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = END - 1 - Math.floor(Math.random() * COUNT);
    const server = createServer();
    try {
      await once(server.listen(port, "127.0.0.1"), "listening");
      return port;
    } catch {
      // Another program listens at it.
    } finally {
      if (server.listening) await once(server.close(), "close");
    }
  }
}
