// Asks a server in a box of bubblewrap to end. A signal to bubblewrap itself would end the box at once, and what it has inside passes none on.

import { childrenOf, type Spawned, stateOf } from "../../process/index.ts";

/** What bubblewrap starts: the server, the relay that starts it, or the relay that starts it in a second box. */
export type StartedInside = "server" | "relay" | "relay and box";

/** SIGTERM to the server's process group, as outside of a box. False when there is no server yet, or no more. */
export function askBox({ pid, exitCode, signalCode }: Spawned, inside: StartedInside): boolean {
  // As long as its end has not been told, its number is no other process's; and all below it is the box's.
  const isOurs = exitCode === null && signalCode === null;
  const first = pid === undefined || !isOurs ? undefined : firstInside(pid);
  if (first === undefined) return false;
  if (inside === "server") return askGroup(first, first);
  const [relay] = childrenOf(first);
  if (relay === undefined) return false;
  if (inside === "relay") return askGroup(first, relay);
  const nested = childrenOf(relay)
    .map((pid) => firstInside(pid))
    .find((pid) => pid !== undefined);
  return nested !== undefined && askGroup(nested, nested);
}

/** It leads a session of its own by the time that the box is ready. */
function firstInside(bwrap: number): number | undefined {
  return childrenOf(bwrap).find((pid) => stateOf(pid)?.group === pid);
}

/** The kernel keeps it from the first process of a namespace, which leads the group and handles nothing. */
function askGroup(group: number, starter: number): boolean {
  for (const pid of childrenOf(starter)) {
    const own = stateOf(pid)?.group ?? group;
    // A server that has left the group which it was started in.
    if (own !== group) ask(own === pid ? -pid : pid);
  }
  return ask(-group);
}

function ask(pid: number): boolean {
  try {
    return process.kill(pid, "SIGTERM");
  } catch {
    return false;
  }
}
