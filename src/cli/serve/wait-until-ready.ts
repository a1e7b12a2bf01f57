// Waits until a gateway in the background is ready or has ended, shows its log meanwhile, and stops it if it takes too long.

import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { RunningGateway } from "../../control/index.ts";
import { PortolanError } from "../../errors/index.ts";
import type { BackgroundProgram } from "../../process/index.ts";
import type { Cli } from "../context.ts";
import { showsSpinner, withSpinner } from "../output/progress.ts";
import { formatDuration } from "../terminal/layout.ts";
import { plainLine, plainText } from "../terminal/safe-text.ts";
import { pathLabeller } from "../workspace/folder.ts";

const POLL_MS = 50;

export interface GatewayLog {
  readonly log: string;
  /** The size of the log before the start: earlier lines are those of other runs. */
  readonly logStart: number;
}

interface Times {
  /** A start fetches packages and images. */
  readonly readyMs?: number;
  /** From SIGTERM to SIGKILL; less than the time that a command has after Ctrl-C. */
  readonly graceMs?: number;
  /** Between two looks at the log. */
  readonly logMs?: number;
  /** Between two messages without a terminal. */
  readonly noteMs?: number;
}

/** Returns the gateway, or its exit code if it has ended. If this throws, the gateway was stopped. */
export async function waitUntilReady(
  cli: Cli,
  path: string,
  started: BackgroundProgram,
  place: GatewayLog,
  { readyMs = 10 * 60_000, graceMs = 3_000, logMs = 3_000, noteMs = 60_000 }: Times = {},
): Promise<RunningGateway | { readonly code: number | null }> {
  const { io, interrupt, output } = cli;
  const label = pathLabeller(io)(place.log);
  const isTerminal = showsSpinner(cli);
  return withSpinner(cli, async (spinner) => {
    spinner.start("starting the gateway");
    let end: { readonly code: number | null } | undefined;
    void started.ended.then((code) => (end = { code }));
    const since = performance.now();
    const everyMs = isTerminal ? logMs : noteMs;
    let next = since + everyMs;
    try {
      for (let now = since; now - since < readyMs; now = performance.now()) {
        interrupt.signal.throwIfAborted();
        const found = (await io.findGateways(path)).gateways.find(({ pid }) => pid === started.pid);
        if (found !== undefined) return found;
        if (end !== undefined) return end;
        if (now >= next) {
          next += everyMs;
          const last = (await newLines(place.log, place.logStart)).at(-1) ?? "";
          const shown =
            last === "" ? `its log is empty: ${label}` : `its last message: ${plainLine(last, 300)}`;
          const waited = formatDuration(Math.round((now - since) / noteMs) * noteMs);
          if (isTerminal) spinner.update(shown);
          else output.note(`Please wait: the gateway is not ready after ${waited}; ${shown}`);
        }
        await Promise.race([delay(POLL_MS), started.ended]);
      }
    } catch (error) {
      await started.stop(graceMs);
      throw error;
    }
    spinner.start("stopping the gateway");
    const isStopped = await started.stop(graceMs);
    throw new PortolanError(
      "TIMEOUT",
      `The gateway was not ready after ${formatDuration(readyMs)}, and ${isStopped ? "was stopped" : `could not be stopped: its process ${started.pid} still runs`}.`,
      {
        hint: `${isStopped ? "" : `To end the process: kill -9 ${started.pid}. `}Start the gateway without --daemon to see what it waits for. The complete log is in ${label}`,
        data: { log: place.log },
      },
    );
  });
}

/** The lines of the log since the start. */
export async function newLines(log: string, logStart: number): Promise<string[]> {
  const bytes = await readFile(log).catch(() => Buffer.alloc(0));
  // A log that became shorter was rotated during the start.
  const text = bytes.subarray(bytes.length < logStart ? 0 : logStart).toString("utf8");
  return plainText(text).trimEnd().split("\n").map(asText);
}

/** A line of a JSON log as text: its message, and the code and hint of its error. */
function asText(line: string): string {
  let entry: { message?: unknown; error?: { code?: string; hint?: string } } | undefined;
  try {
    entry = JSON.parse(line) as typeof entry;
  } catch {
    // Other programs, and Node in a crash, write text.
  }
  if (typeof entry?.message !== "string") return line;
  const { message, error: { code, hint = "" } = {} } = entry;
  return `${message}${code === undefined ? "" : ` [${code}]`}${hint === "" ? "" : ` hint ${hint}`}`;
}
