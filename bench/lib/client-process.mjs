// The process that one contestant runs in: `node client-process.mjs '{"module", "target"}'`, asked over IPC.

import { measure, runWorkers, warmUp } from "./load.mjs";
import { takeSnapshot } from "./snapshot.mjs";

const { module, target } = JSON.parse(process.argv[2]);
const shared = new AbortController();
let client;

const actions = {
  async connect() {
    const { connect } = await import(module);
    client = await connect(target);
  },
  warmUp: (options) => warmUp(client.call, options),
  measure: (options) => measure(client.call, options),
  /** Calls that share one abort signal, as the calls of a long-running agent do. */
  run: (options) => runWorkers((text) => client.call(text, shared.signal), options),
  snapshot: () => takeSnapshot(shared.signal),
  close: () => client.close(),
};

process.on("message", async ({ action, options }) => {
  try {
    process.send({ value: await actions[action](options) });
  } catch (error) {
    process.send({ error: String(error?.message ?? error).split("\n")[0] });
  }
});
process.on("disconnect", () => process.exit());
