// A contract with one driver, whose server is a function.

import type { AuditEvent } from "../../src/contracts/dispatch/audit.ts";
import {
  type Contracts,
  openContracts,
  type OpenContractsOptions,
} from "../../src/contracts/contracts-upstream.ts";
import type { Dispatched } from "../../src/contracts/dispatch/contract-call.ts";
import type { DriverHooks } from "../../src/contracts/driver/bound-tool.ts";
import type { Contract, Driver, JsonObject } from "../../src/model/index.ts";
import { contract, driver, serve, tool } from "./contracts.ts";

export type Answers = (name: string, args: JsonObject) => JsonObject | Promise<JsonObject>;

export interface Made {
  contracts: Contracts;
  calls: JsonObject[];
  events: AuditEvent[];
}

export async function make(
  call: Answers,
  more: {
    contract?: Partial<Contract>;
    driver?: Partial<Driver>;
    hooks?: DriverHooks;
    tools?: Parameters<typeof tool>[0][];
    options?: Partial<OpenContractsOptions>;
  } = {},
): Promise<Made> {
  const events: AuditEvent[] = [];
  const { upstream, calls } = await serve({ tools: (more.tools ?? [{}]).map(tool), call });
  const contracts = await openContracts({
    contracts: [contract(more.contract)],
    drivers: [{ driver: driver(more.driver), hooks: more.hooks }],
    acquire: async () => upstream,
    checkUri: () => undefined,
    audit: (event) => events.push(event),
    ...more.options,
  });
  return { contracts, calls, events };
}

export const invoke = (made: Made, input: unknown = { path: "a" }, more: object = {}): Promise<Dispatched> =>
  made.contracts.call({ tool: "fs-read", input, ...more });
