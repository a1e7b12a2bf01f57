// Marks errors of requests that cannot have reached their server, so that repeating them does no harm.

import { PortolanError } from "../../errors/index.ts";

export function neverRan(error: PortolanError): PortolanError {
  const { server, hint, stderr, cause } = error;
  return new PortolanError(error.code, error.message, {
    server,
    hint,
    stderr,
    cause,
    data: { ...error.data, neverRan: true },
  });
}
