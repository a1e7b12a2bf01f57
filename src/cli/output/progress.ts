// Progress of a command on stderr: a spinner that shows the current request.

import type { RequestOptions } from "../../client/index.ts";
import type { Cli } from "../context.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { createSpinner, type Spinner } from "../terminal/spinner.ts";

/** Makes the options for one request, which the spinner shows under this label from now on. */
export type RequestProgress = (label: string) => RequestOptions & { signal: AbortSignal };

/** Runs `work` with a spinner that every other output hides, and removes it at the end. */
export async function withSpinner<T>(
  { io, output }: Pick<Cli, "io" | "output">,
  work: (spinner: Spinner) => Promise<T>,
): Promise<T> {
  const spinner = createSpinner({
    stream: io.stderr,
    colors: output.noteColors,
    enabled: showsSpinner({ io }) && !output.quiet,
    unicode: io.platform !== "win32" || io.env["WT_SESSION"] !== undefined,
  });
  output.around(spinner);
  try {
    return await work(spinner);
  } finally {
    spinner.stop();
    output.around(undefined);
  }
}

/** Whether stderr is a terminal that can show a spinner. */
export function showsSpinner({ io }: Pick<Cli, "io">): boolean {
  return io.stderr.isTTY === true && io.env["TERM"] !== "dumb";
}

const SLOW_MS = 1_000;

/** Without a terminal, which has a spinner: prints one line about work that takes longer than a second. */
export async function withSlowNote<T>(
  cli: Pick<Cli, "io" | "output">,
  text: () => string,
  work: () => Promise<T>,
): Promise<T> {
  if (showsSpinner(cli)) return work();
  const timer = setTimeout(() => cli.output.note(`Please wait: ${plainLine(text(), 200)}`), SLOW_MS);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}

export function requestProgress({ interrupt }: Pick<Cli, "interrupt">, spinner: Spinner): RequestProgress {
  return (label) => {
    spinner.start(label);
    return {
      signal: interrupt.signal,
      onProgress: ({ progress, total, message }) => {
        const amount = total === undefined ? [] : [`${progress} of ${total}`];
        // Without a total, the number only says that the server works.
        spinner.update(
          message === undefined ? (amount[0] ?? `${progress}`) : [...amount, message].join(", "),
        );
      },
    };
  };
}
