// Usage errors: everything that is wrong with a command line, reported in one error.

import { PortolanError } from "../../errors/index.ts";

/** Throws one USAGE error for all problems, if there are any. */
export function throwUsageErrors(problems: readonly string[]): void {
  if (problems.length > 0) throw new PortolanError("USAGE", problems.join("\n"), { data: { problems } });
}
