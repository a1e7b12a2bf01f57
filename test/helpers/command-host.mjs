// Runs the built command again and again in one process, each time as if it were the only one: with its own arguments, environment,
// folder, stdin and output. A run in a process of its own spends most of its time on loading modules.
// The parent sends { words, cwd, env, stdin }, and gets { code, out, err, isClean }. The work for the exit is done after each run. A
// host that is not clean then exits, as the command would: an open socket, a child process or a timer would outlive the command.

import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";

const [, , main] = process.argv;
const exit = process.exit.bind(process);
const home = process.cwd();
const require = createRequire(import.meta.url);
/** The exports of the command, which runs for the first time when it is loaded. */
let command;

// The package reads HOME when it is loaded; these variables it reads for each call.
const FOLDERS = {
  XDG_CACHE_HOME: ".cache",
  XDG_CONFIG_HOME: ".config",
  XDG_DATA_HOME: ".local/share",
  XDG_STATE_HOME: ".local/state",
};
const { env } = process;
process.env = new Proxy(env, {
  get: (target, name) =>
    target[name] || (Object.hasOwn(FOLDERS, name) ? `${target.HOME}/${FOLDERS[name]}` : target[name]),
});
await import("env-paths");
process.env = env;

process.on("disconnect", () => exit());
process.on("message", async (order) => {
  const before = resources();
  const known = new Set(process.eventNames().flatMap((name) => process.rawListeners(name)));
  const { code, out, err } = await run(order);
  for (const listener of process.listeners("exit")) listener(code);
  for (const name of process.eventNames())
    for (const listener of process.rawListeners(name))
      if (name !== "exit" && !known.has(listener)) process.removeListener(name, listener);
  const isClean = await settles(before);
  process.chdir(home);
  process.send({ code, out, err, isClean }, () => {
    if (!isClean) exit();
  });
});
process.send("ready");

async function run({ words, cwd, env: own, stdin }) {
  for (const name of Object.keys(env)) delete env[name];
  Object.assign(env, own);
  if (cwd !== undefined) process.chdir(cwd);
  process.argv = [process.execPath, main, ...words];
  const [stdout, stderr] = [createSink(), createSink()];
  define("stdin", Readable.from(stdin === "" ? [] : [Buffer.from(stdin)], { objectMode: false }));
  define("stdout", stdout.stream);
  define("stderr", stderr.stream);
  const ended = new Promise((resolve) => {
    process.exit = (code) => resolve(code ?? 0);
  });
  if (command === undefined) command = require(main);
  else void command.start();
  const code = await ended;
  return { code, out: stdout.text(), err: stderr.text() };
}

function define(name, value) {
  Object.defineProperty(process, name, { value, configurable: true });
}

function createSink() {
  const chunks = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString("utf8") };
}

/** What keeps an event loop alive, by kind. */
function resources() {
  const counts = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** Whether the command has closed everything, but for the one timer that keeps it alive until its end. */
async function settles(before) {
  for (let round = 0; round < 5; round += 1) {
    const left = Object.entries(resources()).filter(
      ([kind, count]) =>
        kind !== "CloseReq" &&
        kind !== "Immediate" &&
        count > (before[kind] ?? 0) + (kind === "Timeout" ? 1 : 0),
    );
    if (left.length === 0) return true;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return false;
}
