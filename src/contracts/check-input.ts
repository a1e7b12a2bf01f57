// Checks what a program passes to `contracts.call()` and `contracts.register()`, which plain JavaScript does not.

import { checkOptions, OPTION_KINDS, type OptionTable, PortolanError } from "../errors/index.ts";
import { isObject } from "../model/index.ts";
import type { CallContext } from "./contract/call-context.ts";
import type { ContractCall } from "./dispatch/contract-call.ts";

const { anything, callback, fields, flag, milliseconds, object, signal, text, texts } = OPTION_KINDS;

const CONTEXT: OptionTable<CallContext> = {
  userId: text,
  workspaceId: text,
  roles: texts,
  capabilities: texts,
  workflow: text,
  interactive: flag,
  pinnedProvider: text,
  regionConstraint: text,
  values: object,
};

const CALL: OptionTable<ContractCall> = {
  tool: text,
  input: anything,
  context: fields(CONTEXT),
  caller: object,
  signal,
  timeoutMs: milliseconds,
  maxTimeoutMs: milliseconds,
  onProgress: callback,
  onLog: callback,
  ask: callback,
  observation: anything,
  charge: anything,
  onWaiting: callback,
  approved: flag,
};

export function checkContractCall(call: unknown): void {
  checkOptions("the fields of contracts.call()", call ?? null, CALL);
}

export function checkRegistered(one: unknown): void {
  if (isObject(one)) {
    const { kind } = one;
    if (kind === "tool" && isObject(one.contract)) return;
    if (kind === "driver" && isObject(one.driver)) return;
    if (kind === "mcp" && Array.isArray(one.implements) && isObject(one.endpoint)) return;
  }
  throw new PortolanError(
    "CONFIG_INVALID",
    "contracts.register() got a value that is neither a driver nor a contract",
    { hint: "Pass what defineDriver() or defineTool() returns." },
  );
}
