// The heap of another Node process, through its inspector: nothing has to be built into what is measured.

import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { request, WebSocket } from "undici";

/** The process must have been started with `--inspect-port=<port>`; the signal makes it listen there. */
export async function attachToHeap(pid, port) {
  process.kill(pid, "SIGUSR1");
  const socket = new WebSocket(await findTarget(port));
  const waiting = new Map();
  let nextId = 1;
  socket.addEventListener("message", ({ data }) => {
    const { id, result } = JSON.parse(data);
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  await once(socket, "open");
  const ask = (method) =>
    new Promise((resolve) => {
      waiting.set(nextId, resolve);
      socket.send(JSON.stringify({ id: nextId++, method }));
    });
  return {
    /** Collects garbage first, so that only live objects count. */
    async readUsedMb() {
      for (let i = 0; i < 4; i++) {
        await sleep(50); // lets finalizers and closing handles run
        await ask("HeapProfiler.collectGarbage");
      }
      return (await ask("Runtime.getHeapUsage")).usedSize / 2 ** 20;
    },
    close: () => socket.close(),
  };
}

async function findTarget(port) {
  for (let attempt = 1; ; attempt++) {
    try {
      const { body } = await request(`http://127.0.0.1:${port}/json/list`);
      return (await body.json())[0].webSocketDebuggerUrl;
    } catch (error) {
      if (attempt === 50) throw new Error("its inspector does not answer", { cause: error });
      await sleep(100);
    }
  }
}
