// Rebuilds dist/ whenever a file in src/ changes. Usage: npm run dev; Ctrl-C ends it.

import { spawn } from "node:child_process";
import { watch } from "chokidar";
import { root } from "./lib/install-once.mjs";

const QUIET_MS = 100;

let running = false;
let isDirty = true;
let timer;

watch("src", { cwd: root, ignoreInitial: true, ignored: /\.test\.ts$/ }).on("all", (_, path) => {
  console.log(`changed: ${path}`);
  isDirty = true;
  clearTimeout(timer);
  timer = setTimeout(build, QUIET_MS);
});
build();

/** One build at a time; a change during a build starts another one after it. */
function build() {
  if (running || !isDirty) return;
  running = true;
  isDirty = false;
  const startedAt = Date.now();
  spawn(process.execPath, ["scripts/build.mjs"], { cwd: root, stdio: "inherit" }).once("close", (code) => {
    console.log(
      code === 0 ? `built dist/ in ${Date.now() - startedAt} ms` : `the build failed (exit code ${code})`,
    );
    running = false;
    build();
  });
}
