// Baseline of a command without Portolan: `spawn`, and its output until it closes. No limits, no deadline.

import { spawn } from "node:child_process";

/** The environment that Portolan gives to commands. It has to be the same here: a program with LANG loads a locale, and starts later. */
const VARIABLES = ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER"];

/** `detached`: in a process group of its own, so that all of it could be ended. */
export async function connect({ words, detached = false }) {
  const [program, ...args] = words;
  const env = Object.fromEntries(
    VARIABLES.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
  return {
    call: (text) =>
      new Promise((resolve, reject) => {
        const child = spawn(program, [...args, text], { stdio: ["ignore", "pipe", "pipe"], env, detached });
        const chunks = [];
        child.stdout.on("data", (chunk) => chunks.push(chunk));
        child.stderr.resume();
        child.on("error", reject);
        child.on("close", () => resolve(Buffer.concat(chunks).toString()));
      }),
    async close() {},
  };
}
