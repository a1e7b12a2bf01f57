// The process that loads all gateways, one at a time, asked over IPC. One for all, so that no gateway has a client that
// is better compiled than another's.

import { connect } from "./gateway-client.mjs";
import { measure, runWorkers } from "./load.mjs";
import { median } from "./stats.mjs";

const PATIENCE_MS = 15_000; // over what was asked for: a gateway that loses an answer must not stop the others

const clients = new Map();

const actions = {
  async connect({ name, ...target }) {
    clients.set(name, await connect(target));
  },
  measure: ({ name, ...options }) =>
    withPatience(options.durationMs, measure(clients.get(name).call, options)),
  run: ({ name, ...options }) => runWorkers(clients.get(name).call, options),
  /** Milliseconds for one list, the median of some. */
  async list({ name, times }) {
    const taken = [];
    for (let list = 0; list < times; list++) {
      const start = performance.now();
      await clients.get(name).list();
      taken.push(performance.now() - start);
    }
    return median(taken);
  },
  /** Sessions that are opened and never come back. Returns how many the gateway refused, which is its right. */
  async abandon({ name, count, inFlight }) {
    const { abandon } = clients.get(name);
    let left = count;
    let refused = 0;
    const work = async () => {
      while (left-- > 0) await abandon().catch(() => refused++);
    };
    await Promise.all(Array.from({ length: inFlight }, work));
    return refused;
  },
  async close({ name }) {
    await clients.get(name)?.close();
    clients.delete(name);
  },
};

function withPatience(ms, work) {
  let timer;
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("an answer did not come")), ms + PATIENCE_MS);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

process.on("message", async ({ action, options }) => {
  try {
    process.send({ value: await actions[action](options) });
  } catch (error) {
    process.send({ error: String(error?.message || error?.code || error).split("\n")[0] });
  }
});
process.on("disconnect", () => process.exit());
