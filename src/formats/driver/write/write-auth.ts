// Logins and health checks, in the words of a DRIVER.md.

import type { DriverAuth, DriverHealthCheck, HttpExpectation } from "../../../model/index.ts";
import { writeIsoDuration } from "../schema/iso-duration.ts";
import { type Fields, filledOnly } from "./write-frontmatter.ts";

export function writeAuth(auth: DriverAuth | undefined): Fields | undefined {
  if (auth === undefined) return undefined;
  const { ref, state, login, refresh, expiryDetect } = auth;
  const when = login?.completesWhen;
  return {
    ref,
    state: state && { paths: filledOnly(state.paths), env: filledOnly(state.env) },
    login: login && {
      cmd: login.command,
      url: login.url,
      interactive: login.interactive ? true : undefined,
      requires_callback_url: login.requiresCallbackUrl ? true : undefined,
      completes_when: when && { cmd: when.command, exit_code: when.exitCode, http: writeHttp(when.http) },
    },
    refresh: refresh && { cmd: refresh.command, url: refresh.url, every: every(refresh.everyMs) },
    expiry: expiryDetect === undefined ? undefined : { detect: expiryDetect },
  };
}

export function writeHealth(check: DriverHealthCheck | undefined): Fields | undefined {
  return (
    check && {
      method: check.method,
      cmd: check.command,
      http: writeHttp(check.http),
      expect_exit: check.expectExit,
      every: every(check.everyMs),
      timeout_ms: check.timeoutMs === 5_000 ? undefined : check.timeoutMs,
    }
  );
}

function writeHttp(http: HttpExpectation | undefined): Fields | undefined {
  return http && { method: http.method, url: http.url, expect_status: http.expectStatus };
}

function every(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : writeIsoDuration(ms);
}
