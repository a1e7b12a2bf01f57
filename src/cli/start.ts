// Connects `run` to the real terminal, files and signals of the process.

import { readFileSync } from "node:fs";
import process from "node:process";
import { PortolanError } from "../errors/index.ts";
import type { CliIo } from "./context.ts";
import { EXIT_CODES } from "./terminal/interrupt.ts";
import type { Prompter } from "./terminal/prompter.ts";
import { hasTerminal, openTerminal } from "./terminal/session-terminal.ts";
import { reportFailure, run } from "./program.ts";

/** The loader of the command. */
interface Loader {
  readonly beginServing: () => void;
}

/** Runs the command line of this process, and ends the process with its exit code. */
export async function start({ beginServing }: Loader): Promise<never> {
  const io = createIo(beginServing);
  const words = process.argv.slice(2);
  const fail = (thrown: unknown): void => process.exit(reportFailure(thrown, words, io));
  process.on("uncaughtException", fail);
  process.stdout.on("error", (cause: NodeJS.ErrnoException) => {
    // A reader that has closed the pipe, such as `head`, is not an error.
    if (cause.code === "EPIPE") return;
    fail(
      new PortolanError("INTERNAL", `The output cannot be written: ${cause.message}`, {
        cause,
        hint: "Check the program or file that stdout is connected to.",
      }),
    );
  });
  // An error of stderr itself cannot be shown anywhere.
  process.stderr.on("error", () => {});

  // Node exits with code 13 and no message when its event loop is empty, even while a promise is pending, and many timers of the
  // library do not keep the loop alive. This timer does, until the command has its result.
  setInterval(() => {}, 2 ** 30);
  const result: { code?: number } = {};
  // A signal without a listener ends the process at once, without the servers that it started. The listeners of a command do not
  // exist before it begins and after it ends.
  for (const [signal, ownCode] of Object.entries(EXIT_CODES))
    process.on(signal, () => {
      if (result.code !== undefined || process.listenerCount(signal) === 1)
        process.exit(result.code ?? ownCode);
    });
  result.code = await run(words, io);
  await Promise.all(
    [process.stdout, process.stderr].map(
      (stream) => new Promise<void>((resolve) => void stream.write("", () => resolve())),
    ),
  );
  process.exit(result.code);
}

function createIo(beginServing: () => void): CliIo {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  let prompter: Prompter | undefined;

  return {
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
    connect: async (config) => (await import("../client/index.ts")).connectServer(config),
    openWorkspace: async (source, options) =>
      (await import("../hub/index.ts")).openWorkspaceWith(source, options),
    findGateways: async (path) => (await import("../control/index.ts")).findGateways(path),
    findAllGateways: async () => (await import("../control/index.ts")).findAllGateways(),
    openRunning: async (gateway, options) =>
      (await import("../control/index.ts")).openRemoteWorkspace(gateway, options),
    loadCatalog: async (path, options) =>
      (await import("../catalog/index.ts")).loadCatalog(path, {
        ...options,
        packagedDrivers: async (...args) =>
          (await import("../packages/index.ts")).findPackagedDrivers(...args),
      }),
    importClients: async (options) => (await import("../formats/clients/index.ts")).importClients(options),
    createPrompter: async (color) => {
      const { createClackPrompter } = await import("./terminal/prompter.ts");
      // All prompts share one stream: a second one would lose the keys that the first has read.
      prompter ??= createClackPrompter(
        process.stdin.isTTY ? process.stdin : (openTerminal() ?? process.stdin),
        process.stderr,
        color,
      );
      return prompter;
    },
    hasTerminal,
    beginServing,
    openBrowser: async (url) => (await import("./terminal/open-browser.ts")).openBrowser(url),
  };
}
