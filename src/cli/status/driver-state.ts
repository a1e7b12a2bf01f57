// Whether a driver can serve now, as far as anybody knows, and what it is that keeps it from serving.

import type { DriverReport } from "../../contracts/index.ts";
import type { Diagnostic } from "../../errors/index.ts";
import type { Driver } from "../../model/index.ts";

export interface Standing {
  readonly serves: boolean;
  /** Its server runs or ran, and has the tools that the driver binds. */
  readonly verified: boolean;
  /** Somebody has to log in, and that is all. */
  readonly login: boolean;
  readonly reason?: string | undefined;
}

/** What a shell is told: of a server that cannot be reached, and of one that wants a login. */
export const DOWN = 3;
export const LOGIN_NEEDED = 5;

/** `told` are the findings about it so far. */
export function standingOf(
  report: DriverReport | undefined,
  told: readonly Diagnostic[],
  driver?: Driver,
): Standing {
  if (report === undefined) return { serves: false, verified: false, login: false, reason: firstError(told) };
  const { server, auth, health, healthReason, reason } = report;
  const verified = server === "verified";
  if (server === "refused" || server === "unreachable")
    return { serves: false, verified, login: false, reason: reason ?? firstError(told) };
  // A login that can be renewed is, by the next call.
  const isIn = auth === "authed" || (auth === "expired" && driver?.auth?.refresh !== undefined);
  if (!isIn) return { serves: false, verified, login: true, reason: loginReason(report) };
  if (health === "failed" || health === "stale") {
    const failed = `its health check failed${healthReason === undefined ? "" : `: ${healthReason}`}`;
    const why = health === "failed" ? failed : "its health was not checked for too long";
    return { serves: false, verified, login: false, reason: why };
  }
  // Nobody could look at it for a reason that is not its server's: a secret that it may not have, or that has no value.
  const kept = verified
    ? undefined
    : (told.find(({ code }) => code === "SERVER_UNAVAILABLE")?.message ?? reason);
  return kept === undefined
    ? { serves: true, verified, login: false }
    : { serves: false, verified, login: false, reason: kept };
}

function firstError(told: readonly Diagnostic[]): string | undefined {
  return told.find(({ severity }) => severity === "error")?.message;
}

function loginReason({ id, auth }: DriverReport): string {
  const what = auth === "expired" ? "its login has expired" : "nobody is logged in";
  return `${what}: portolan login ${id}`;
}
