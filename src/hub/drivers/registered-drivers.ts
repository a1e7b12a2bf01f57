// Registered drivers of a workspace, so that a breaking change without a new major version is noticed.

import { type Driver, isObject } from "../../model/index.ts";
import { type Kind, registered, remember } from "./registered.ts";

const DRIVERS: Kind<Driver> = {
  name: "drivers",
  ending: ".json",
  keyOf: ({ id }) => id,
  isIt: isDriver,
};

/** The registered drivers by id. */
export async function registeredDrivers(root: string): Promise<ReadonlyMap<string, Driver>> {
  return registered(DRIVERS, root);
}

export async function rememberDrivers(root: string, drivers: readonly Driver[]): Promise<void> {
  await remember(DRIVERS, root, drivers);
}

function isDriver(value: unknown): value is Driver {
  return (
    isObject(value) &&
    typeof value.id === "string" &&
    typeof value.version === "string" &&
    isObject(value.server) &&
    isObject(value.launch) &&
    ["implements", "prompts", "resources", "region", "policyTags"].every((name) =>
      Array.isArray(value[name]),
    ) &&
    (value.implements as unknown[]).every(
      (one) =>
        isObject(one) &&
        typeof one.tool === "string" &&
        Array.isArray(one.dropInputs) &&
        Array.isArray(one.dropOutputs),
    )
  );
}
