// The benchmark's end of a contestant's process: asks it one thing at a time.

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const PATIENCE_MS = 180_000; // a client that loses an answer must not stop the whole benchmark
const ENTRY = fileURLToPath(new URL("client-process.mjs", import.meta.url));

/** Starts the contestant's process and connects it. Rejects when it cannot connect. */
export async function startContestant({ name, module, target }, execArgv = []) {
  const { ask, stop, isConnected } = startAsked(ENTRY, [JSON.stringify({ module, target })], execArgv);
  const askNamed = async (action, options) => {
    try {
      return await ask(action, options);
    } catch (error) {
      throw new Error(`${name}: ${error.message}`, { cause: error });
    }
  };

  try {
    await askNamed("connect");
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    ask: askNamed,
    async close() {
      if (isConnected()) await ask("close").catch(() => {});
      await stop();
    },
  };
}

/** Starts a process that answers `{action, options}` over IPC with `{value}` or `{error}`. */
export function startAsked(entry, args = [], execArgv = []) {
  // Printing a warning for every call would be charged to the client; `leak` counts them instead.
  const child = fork(entry, args, { execArgv: ["--no-warnings", ...execArgv] });
  const exited = once(child, "exit").then(([code, signal]) => ({
    error: `its process ended (${signal ?? code})`,
  }));
  const ask = async (action, options) => {
    const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
    child.send({ action, options });
    const { error, value } = await Promise.race([once(child, "message").then(([reply]) => reply), exited]);
    clearTimeout(timer);
    if (error !== undefined) throw new Error(error);
    return value;
  };
  const stop = async () => {
    if (child.connected) child.disconnect();
    await exited;
  };
  return { ask, stop, isConnected: () => child.connected };
}
