// Runs the commands of the README's "Try it" in a copy of this checkout, as on a machine that has only Node.js, npm, git
// and a POSIX shell with coreutils: PATH leads to nothing else, and HOME is empty.
//
//   node scripts/fresh-machine.mjs [<words>]     only the commands that contain the words, such as "npm start"
//
// Exit code 1: a command failed, or `npm start` did not serve.

import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, join, relative, sep } from "node:path";
import { root, runNpm } from "./lib/install-once.mjs";

const PROGRAMS = `node npm npx git sh
  [ arch base64 basename cat chgrp chmod chown cksum comm cp csplit cut date dd df dirname du echo env expand expr false fold
  groups head id install join link ln logname ls md5sum mkdir mkfifo mknod mktemp mv nice nl nohup nproc od paste pathchk pr
  printenv printf pwd readlink realpath rm rmdir seq sha256sum sleep sort split stat stty sum sync tail tee test timeout touch
  tr true truncate tsort tty uname unexpand uniq unlink wc who whoami yes`.split(/\s+/);

/** Folders of a checkout that are not part of a clone. */
const LEFT_OUT = new Set([".git", ".cache", "node_modules", "dist"]);

const SERVING = /\bServing \d+ servers, \d+ tools, at (http:\S+)$/m;
const START_MS = 120_000;

const folder = mkdtempSync(join(tmpdir(), "portolan-fresh-"));
try {
  const env = prepare();
  const chosen = readCommands().filter((command) => command.includes(process.argv[2] ?? ""));
  for (const [at, whole] of chosen.entries()) {
    // The packages are there after the first command.
    const command = at === 0 ? whole : whole.replace(/^npm ci && /, "");
    console.log(`\n$ ${command}`);
    await (command.endsWith("npm start") ? serve(command, env) : run(command, env));
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** The commands that the README promises, without their comments; tests come first, because the rest takes seconds. */
function readCommands() {
  const [, block] = /## Try it\n+```sh\n([^]*?)```/.exec(readFileSync(join(root, "README.md"), "utf8")) ?? [];
  const commands = (block ?? "").split("\n").map((line) => line.replace(/\s+#.*/, ""));
  if (!["npm ci && npm start", "npm ci && npm test"].every((command) => commands.includes(command)))
    throw new Error('README.md: "Try it" does not begin with npm ci && npm start, and npm ci && npm test.');
  return commands.filter(Boolean).toSorted().toReversed();
}

/** Makes the copy, the folder of programs and the empty HOME; returns the environment. */
function prepare() {
  for (const name of ["bin", "home", "clone"]) mkdirSync(join(folder, name));
  const path = (process.env.PATH ?? "").split(delimiter);
  for (const program of PROGRAMS) {
    const found = path.map((place) => join(place, program)).find((file) => existsSync(file));
    if (found !== undefined) symlinkSync(found, join(folder, "bin", program));
  }
  cpSync(root, join(folder, "clone"), {
    recursive: true,
    filter: (from) => !LEFT_OUT.has(relative(root, from).split(sep)[0]),
  });
  // Settings and downloads of npm belong to the place where this runs, not to the machine that it plays.
  const npm = {
    npm_config_cache: runNpm(["config", "get", "cache"]).trim(),
    npm_config_userconfig: join(homedir(), ".npmrc"),
  };
  const own = Object.entries(process.env).filter(([name]) => !/^(npm_|TEST_|XDG_|PORTOLAN_)/.test(name));
  const { TEST_RECORD_PASSED } = process.env;
  return {
    ...Object.fromEntries(own),
    ...npm,
    TEST_RECORD_PASSED,
    PATH: join(folder, "bin"),
    HOME: join(folder, "home"),
  };
}

async function run(command, env) {
  const child = start(command, env, "inherit");
  const code = await new Promise((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Error(`${command}: exit code ${code}`);
}

/** Succeeds when the gateway serves, answers and stops; ends it in any case. */
async function serve(command, env) {
  const child = start(command, env, "pipe");
  const ended = new Promise((resolve) => child.on("close", resolve));
  try {
    await callGateway(command, child, ended);
    kill(child, "SIGINT");
    await ended;
  } finally {
    kill(child, "SIGKILL");
  }
}

async function callGateway(command, child, ended) {
  let output = "";
  const url = await new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error(`${command}: does not serve`)), START_MS);
    const hear = (text) => {
      process.stdout.write(text.replaceAll(/ptl_\w+/g, "ptl_…"));
      output += text;
      const [, found] = SERVING.exec(output) ?? [];
      if (found === undefined) return;
      clearTimeout(limit);
      resolve(found);
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", hear);
    void ended.then((code) => reject(new Error(`${command}: exit code ${code}`)));
  });
  const { status } = await fetch(url, { method: "POST" });
  if (status !== 401) throw new Error(`${url}: HTTP ${status} to a caller without a token`);
}

/** Starts a command in a process group of its own, so that its children end with it. */
function start(command, env, output) {
  return spawn("sh", ["-c", command], {
    cwd: join(folder, "clone"),
    env,
    stdio: ["ignore", output, output],
    detached: true,
  });
}

function kill(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It has ended.
  }
}
