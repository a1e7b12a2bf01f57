// Ties two sockets together: bytes, backpressure and half-closes pass both ways, and neither outlives a broken other.

import type { Socket } from "node:net";

/** How long one side may stay silent after the other has ended: it may have gone altogether, which nothing tells. */
const HALF_CLOSED_IDLE_MS = 300_000;

/** Both must allow half-open connections. */
export function join(one: Socket, other: Socket): void {
  tie(one, other);
  tie(other, one);
  one.pipe(other);
  other.pipe(one);
}

function tie(from: Socket, to: Socket): void {
  from.on("error", () => to.destroy());
  from.on("end", () => to.setTimeout(HALF_CLOSED_IDLE_MS, () => to.destroy()));
  // One that ended well has handed everything over; the other may still be writing it.
  from.on("close", () => {
    if (!from.readableEnded || !from.writableFinished) to.destroy();
  });
}
