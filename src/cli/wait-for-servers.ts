// Until there is something to serve: most servers are there, or have failed, or have had their time.

import type { Hub } from "../hub/index.ts";
import type { Spinner } from "./spinner.ts";

const WAIT_MS = 10_000;
const LOOK_MS = 20;
/** A server that takes twice as long as all the others arrives later, with an event. */
const PATIENCE_MS = 1_000;

type Member = Hub["members"][number];

/** Ends early when the signal says so. */
export async function waitForServers(
  hub: Hub,
  {
    waitMs = WAIT_MS,
    signal,
    spinner,
  }: { waitMs?: number | undefined; signal: AbortSignal; spinner: Spinner },
): Promise<void> {
  const started = performance.now();
  const all = hub.members.filter(({ state }) => state !== "disabled").length;
  spinner.start(all === 1 ? `starting ${hub.members[0]?.alias}` : `starting ${all} servers`);
  let left = all;
  let lastCame = 0;
  while (!signal.aborted) {
    const now = performance.now() - started;
    const waiting = hub.members.filter((member) => isAwaited(member, now));
    if (waiting.length < left) lastCame = now;
    left = waiting.length;
    const patience = Math.max(PATIENCE_MS, lastCame);
    if (left === 0 || now > waitMs || (left < all && now > lastCame + patience)) break;
    if (all > 1)
      spinner.update(`${all - left} there, waiting for ${waiting.map(({ alias }) => alias).join(", ")}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  spinner.stop();
}

/** What it had last time is as good as what it has now, until it says otherwise: such a server gets a moment only. */
function isAwaited({ state, inventory, declared }: Member, now: number): boolean {
  const isComing = state === "starting" || (state === "idle" && declared.start !== "lazy");
  return isComing && (inventory.tools.length === 0 || now < PATIENCE_MS);
}
