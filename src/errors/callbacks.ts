// Functions that the program passes to the library: an exception in one is a diagnostic, and the work goes on.

import { ERROR_CODES } from "./codes.ts";
import type { Diagnostic, Report } from "./diagnostic.ts";

/** The diagnostic for an exception in a function of the program. `name` is as the program writes it: `onEvent`. */
export function callbackFailed(name: string, thrown: unknown): Diagnostic {
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  const message = `The function "${name}" of your program failed: ${reason}`;
  const { hint } = ERROR_CODES.CALLBACK_FAILED;
  return { code: "CALLBACK_FAILED", severity: "error", message, hint };
}

/** The function, but its exceptions and rejections are reported. A message that comes again is reported once. */
export function guardCallback<Args extends unknown[]>(
  name: string,
  callback: (...args: Args) => unknown,
  report: Report,
): (...args: Args) => void {
  let last: string | undefined;
  const failed = (thrown: unknown): void => {
    const diagnostic = callbackFailed(name, thrown);
    if (diagnostic.message === last) return;
    last = diagnostic.message;
    report(diagnostic);
  };
  return (...args) => {
    try {
      const returned = callback(...args);
      // An async function is a valid listener, too.
      if (returned instanceof Promise) returned.catch(failed);
    } catch (error) {
      failed(error);
    }
  };
}
