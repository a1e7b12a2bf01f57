// Resources that a process keeps: heap, open files, active resources, event listeners.

import { getEventListeners } from "node:events";
import { existsSync, readdirSync } from "node:fs";

const OPEN_FILES = "/proc/self/fd"; // Linux; also shows idle sockets, which no longer count as active resources

let warnings = 0;
process.on("warning", () => warnings++);

/** Needs `--expose-gc`: what is garbage must not count. */
export async function takeSnapshot(sharedSignal) {
  for (let i = 0; i < 4; i++) {
    await new Promise((resolve) => setTimeout(resolve, 50)); // lets finalizers and closing handles run
    globalThis.gc();
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  const resources = {};
  for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1;
  return {
    heapMb: heapUsed / 2 ** 20,
    externalMb: external / 2 ** 20,
    rssMb: rss / 2 ** 20,
    openFiles: existsSync(OPEN_FILES) ? readdirSync(OPEN_FILES).length : undefined,
    resources,
    listeners: countListeners(),
    signalListeners: getEventListeners(sharedSignal, "abort").length,
    warnings,
  };
}

/** Listeners of the process and of every open handle: sockets, pipes, child processes and the streams on them. */
function countListeners() {
  const emitters = new Set([process]);
  // Undocumented, but the only way to the sockets and pipes that a library keeps to itself.
  for (const handle of process._getActiveHandles()) {
    for (const emitter of [handle, handle.stdin, handle.stdout, handle.stderr]) {
      if (typeof emitter?.eventNames === "function") emitters.add(emitter);
    }
  }
  let count = 0;
  for (const emitter of emitters) {
    for (const event of emitter.eventNames()) count += emitter.listenerCount(event);
  }
  return count;
}
