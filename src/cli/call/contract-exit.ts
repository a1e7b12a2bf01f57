// What a shell is told of a contract's call that failed: the same codes as for any other failure of that kind.

import { type CallToolResult, type DriverErrorCode, isObject } from "../../model/index.ts";

const EXITS: Readonly<Partial<Record<DriverErrorCode, number>>> = {
  input_invalid: 2,
  input_unsupported: 2,
  no_route: 3,
  tool_unavailable: 3,
  execute_binding_mismatch: 3,
  install_failed: 3,
  pinned_provider_unavailable: 3,
  policy_violation: 3,
  rate_limited: 3,
  region_mismatch: 3,
  version_mismatch: 3,
  auth_required: 5,
  auth_failed: 5,
  timeout: 124,
  cancelled: 130,
};

/** 1 for what the tool itself says, and for every code that is not known here. */
export function exitOfResult({ isError, _meta }: CallToolResult): number {
  if (isError !== true) return 0;
  const error = isObject(_meta) ? _meta["portolan/error"] : undefined;
  const code = isObject(error) ? String(error.code) : "";
  return Object.hasOwn(EXITS, code) ? (EXITS[code as DriverErrorCode] ?? 1) : 1;
}
