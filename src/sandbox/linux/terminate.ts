// Sends SIGTERM to a server inside of a sandbox, found among the descendants of the process that Portolan started.

import { childrenOf, stateOf, type Spawned } from "../../process/index.ts";

/** The program that a sandbox starts: the server, the relay that starts it, or the relay that starts it in a nested sandbox. */
export type StartedInside = "server" | "relay" | "relay and sandbox";

/**
 * Sends SIGTERM to the server inside of the sandbox. A signal to the process around it would kill the sandbox at
 * once, and nothing inside forwards signals. Signals the server's process group. False if the server has not
 * started yet, or has ended.
 */
export function terminateServer({ pid, exitCode, signalCode }: Spawned, inside: StartedInside): boolean {
  // Until its exit is reported, the process id is not reused, and all its descendants belong to the sandbox.
  const isOurs = exitCode === null && signalCode === null;
  const first = pid === undefined || !isOurs ? undefined : firstInside(pid);
  if (first === undefined) return false;
  if (inside === "server") return terminateGroup(first, first);
  const [relay] = childrenOf(first);
  if (relay === undefined) return false;
  if (inside === "relay") return terminateGroup(first, relay);
  const nested = childrenOf(relay)
    .map((pid) => firstInside(pid))
    .find((pid) => pid !== undefined);
  return nested !== undefined && terminateGroup(nested, nested);
}

/** The first process leads a session of its own. */
function firstInside(parent: number): number | undefined {
  return childrenOf(parent).find((pid) => stateOf(pid)?.group === pid);
}

/** The kernel does not deliver the signal to the first process of a pid namespace, which leads the group. */
function terminateGroup(group: number, starter: number): boolean {
  for (const pid of childrenOf(starter)) {
    const own = stateOf(pid)?.group ?? group;
    // The server has left the group that it was started in.
    if (own !== group) terminate(own === pid ? -pid : pid);
  }
  return terminate(-group);
}

function terminate(pid: number): boolean {
  try {
    return process.kill(pid, "SIGTERM");
  } catch {
    return false;
  }
}
