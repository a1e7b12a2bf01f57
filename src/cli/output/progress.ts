// Progress of a command on stderr: a spinner that shows the current request.

import type { RequestOptions } from "../../client/index.ts";
import type { Cli } from "../context.ts";
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
    enabled: io.stderr.isTTY === true && !output.quiet && io.env["TERM"] !== "dumb",
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
