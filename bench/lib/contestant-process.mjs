// The benchmark's end of a contestant's process: asks it one thing at a time.

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const PATIENCE_MS = 180_000; // a client that loses an answer must not stop the whole benchmark
const ENTRY = fileURLToPath(new URL("client-process.mjs", import.meta.url));

/** Starts the contestant's process and connects it. Rejects when it cannot connect. */
export async function startContestant({ name, module, target }, execArgv = []) {
  // Printing a warning for every call would be charged to the client; `leak` counts them instead.
  const child = fork(ENTRY, [JSON.stringify({ module, target })], {
    execArgv: ["--no-warnings", ...execArgv],
  });
  const exited = once(child, "exit").then(([code, signal]) => ({
    error: `its process ended (${signal ?? code})`,
  }));

  const ask = async (action, options) => {
    const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
    child.send({ action, options });
    const { error, value } = await Promise.race([once(child, "message").then(([reply]) => reply), exited]);
    clearTimeout(timer);
    if (error !== undefined) throw new Error(`${name}: ${error}`);
    return value;
  };
  const stop = async () => {
    if (child.connected) child.disconnect();
    await exited;
  };

  try {
    await ask("connect");
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    ask,
    async close() {
      if (child.connected) await ask("close").catch(() => {});
      await stop();
    },
  };
}
