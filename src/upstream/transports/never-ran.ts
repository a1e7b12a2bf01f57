// Marks the error of a request that cannot have reached its server, so that the request may be repeated.

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
