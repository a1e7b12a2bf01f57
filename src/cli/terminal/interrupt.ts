// Signals such as Ctrl-C: the first one cancels the work and lets it close, the second one ends the program at once.

import { isPortolanError, PortolanError } from "../../errors/index.ts";

export interface SignalSource {
  on(signal: NodeJS.Signals, listener: () => void): unknown;
  off(signal: NodeJS.Signals, listener: () => void): unknown;
  exit(code: number): void;
}

export interface Interrupt {
  /** Aborts at the first signal. */
  readonly signal: AbortSignal;
  /** Set by the first signal: 128 plus its number, unless the command has other codes. */
  readonly exitCode: number | undefined;
  dispose(): void;
}

export type ExitCodes = Readonly<Partial<Record<NodeJS.Signals, number>>>;

export const EXIT_CODES: ExitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };
/** How long a command may take to close after a signal. */
const GRACE_MS = 5_000;

export function createInterrupt(
  source: SignalSource,
  onFirst: (signal: NodeJS.Signals) => void = () => {},
  exitCodes: ExitCodes = EXIT_CODES,
): Interrupt {
  const controller = new AbortController();
  let exitCode: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  const listeners = Object.entries(exitCodes).map(([name, code]) => {
    const signal = name as NodeJS.Signals;
    const listener = (): void => {
      if (exitCode !== undefined) {
        source.exit(exitCode);
        return;
      }
      exitCode = code;
      timer = setTimeout(() => source.exit(code), GRACE_MS);
      onFirst(signal);
      controller.abort(
        new PortolanError("CANCELLED", `Interrupted by ${signal}.`, {
          hint: "The command has stopped. A tool call that was already sent may still have run.",
        }),
      );
    };
    source.on(signal, listener);
    return { signal, listener };
  });
  return {
    signal: controller.signal,
    get exitCode() {
      return exitCode;
    },
    dispose() {
      clearTimeout(timer);
      for (const { signal, listener } of listeners) source.off(signal, listener);
    },
  };
}

/** Resolves when the signal aborts; at once if it has. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** A command that knows what an interruption left behind says it in place of the general message. */
export interface Left {
  /** Such as "Nothing was published." */
  readonly message: string;
  readonly hint?: string;
}

/** Runs the work. After a signal, the error says what is left; another error that came first stays. */
export async function orInterrupted<T>(
  { interrupt }: { readonly interrupt: Interrupt },
  left: () => Left,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isCancelled = isPortolanError(error) && error.code === "CANCELLED";
    if (!interrupt.signal.aborted || (isPortolanError(error) && !isCancelled)) throw error;
    const { message, hint = "" } = left();
    throw new PortolanError("CANCELLED", `Interrupted. ${message}`, {
      ...{ hint, cause: error, data: { reason: "INTERRUPTED" } },
    });
  }
}
