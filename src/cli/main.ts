#!/usr/bin/env node
// The `portolan` command: the real terminal, files and signals around `run`.

import { readFileSync } from "node:fs";
import process from "node:process";
import type { CliIo } from "./io.ts";
import { run } from "./program.ts";

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  version: string;
};

const io: CliIo = {
  get stdin() {
    return process.stdin;
  },
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
  platform: process.platform,
  version,
  signals: {
    on: (signal, listener) => process.on(signal, listener),
    off: (signal, listener) => process.off(signal, listener),
    exit: (code) => process.exit(code),
  },
  connect: async (config) => (await import("../tools/index.ts")).connectMcp(config),
  createPrompter: async () =>
    (await import("./prompter.ts")).createClackPrompter(process.stdin, process.stderr),
  openBrowser: async (url) => (await import("./open-browser.ts")).openBrowser(url),
};

// A reader that has seen enough (`| head`) is no error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}
process.on("uncaughtException", (error) => {
  process.stderr.write(`portolan: ${JSON.stringify(error.message)}\n`);
  process.exit(70);
});

const code = await run(process.argv.slice(2), io);
await Promise.all(
  [process.stdout, process.stderr].map(
    (stream) => new Promise<void>((resolve) => void stream.write("", () => resolve())),
  ),
);
process.exit(code);
