// Keeps a number of calls in flight and times each of them.

import { quantile } from "./stats.mjs";

export const PAYLOADS = { small: 32, medium: 10 * 1024, large: 100 * 1024, huge: 1024 * 1024 };

/** Calls for a time and returns calls per second, latencies and this process's CPU time per call. */
export async function measure(call, { payload, inFlight, durationMs }) {
  const latencies = [];
  const cpu = process.cpuUsage();
  const start = performance.now();
  await runWorkers(call, {
    payload,
    inFlight,
    deadline: start + durationMs,
    onLatency: (ms) => latencies.push(ms),
  });
  const elapsedMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);

  const calls = latencies.length;
  latencies.sort((a, b) => a - b);
  return {
    calls,
    callsPerSecond: (calls / elapsedMs) * 1000,
    p50Us: quantile(latencies, 0.5) * 1000,
    p99Us: quantile(latencies, 0.99) * 1000,
    cpuUsPerCall: (user + system) / calls,
    rssMb: process.memoryUsage.rss() / 2 ** 20,
  };
}

/**
 * Makes small calls until this process has spent the CPU time: about a second is what the just-in-time compiler needs,
 * however long that takes on a busy machine.
 */
export async function warmUp(call, { cpuMs }) {
  const before = process.cpuUsage();
  const giveUp = performance.now() + cpuMs * 5;
  for (let spentMs = 0; spentMs < cpuMs && performance.now() < giveUp;) {
    await runWorkers(call, { payload: "small", inFlight: 16, deadline: performance.now() + 50 });
    const { user, system } = process.cpuUsage(before);
    spentMs = (user + system) / 1000;
  }
}

/** Calls until the deadline passes or `calls` calls are made, whichever is given. */
export async function runWorkers(
  call,
  { payload, inFlight, deadline = Infinity, calls = Infinity, onLatency },
) {
  let left = calls;
  const work = async (text) => {
    let start = performance.now();
    while (start < deadline && left > 0) {
      left--;
      const echoed = await call(text);
      if (echoed !== text) throw new Error(`sent ${text.length} characters, but other ones came back`);
      const end = performance.now();
      onLatency?.(end - start);
      start = end;
    }
  };
  await Promise.all(createTexts(PAYLOADS[payload], inFlight).map(work));
}

const FILLER = "sends a line of plain text, about as long as the lines of a file are.";
const textsBySize = new Map();

/** One text per worker, all different, so that an answer to somebody else's call is noticed. */
function createTexts(bytes, count) {
  const texts = textsBySize.get(bytes) ?? [];
  textsBySize.set(bytes, texts);
  while (texts.length < count) {
    const line = `Worker ${texts.length} ${FILLER}\n`;
    const text = line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes);
    texts.push(Buffer.from(text).toString()); // flat: a rope would be flattened inside the first measured call
  }
  return texts.slice(0, count);
}
