// Abort controllers to be used again: making one costs more than most of what is done for a call.

const MAX_SPARE = 256;
const spare: AbortController[] = [];

export function takeStop(): AbortController {
  return spare.pop() ?? new AbortController();
}

/** For one that was not aborted, and to which nobody listens any more. */
export function returnStop(stop: AbortController): void {
  if (!stop.signal.aborted && spare.length < MAX_SPARE) spare.push(stop);
}
