// Loads the code beside a driver, if the workspace allows it, within a time limit.

import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import {
  type DriverEntry,
  type DriverHandle,
  type DriverHooksHandle,
  mergeEntry,
} from "../../contracts/index.ts";
import { PortolanError } from "../../errors/index.ts";
import type { ConfiguredDriver } from "../../model/index.ts";
import { within } from "../../upstream/index.ts";
import type { ServerContext } from "../processes/open-server-session.ts";

/** All drivers wait for the module, which must do nothing but define a driver. */
const LOAD_MS = 5_000;

/** The driver with its code, or refused with the reason when its code may not run or cannot be loaded. */
export async function withDriverCode(
  declaredDriver: ConfiguredDriver,
  { report, driverCode }: Pick<ServerContext, "report" | "driverCode">,
  loadMs: number = LOAD_MS,
): Promise<DriverEntry> {
  const { driver, entry } = declaredDriver;
  if (entry === undefined) return { driver };
  const refuse = (message: string, hint: string): DriverEntry => ({
    driver,
    refused: { code: "FILE_INVALID", severity: "error", server: driver.id, message, hint, file: entry },
  });
  if (driverCode !== true)
    return refuse(
      `Portolan did not run the code of the driver ${driver.id}: driver code is not allowed`,
      "Review the code, then allow it: --driver-code on the command line, driverCode: true in a program.",
    );
  try {
    const handle = await load(entry, driver.id, loadMs);
    const { driver: merged, hooks, warnings } = mergeEntry(declaredDriver, handle);
    for (const warning of warnings) report(warning);
    return { driver: merged, hooks };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return refuse(
      `the code of the driver ${driver.id} cannot be loaded: ${reason}`,
      "Correct the module; loading it must do nothing but define the driver.",
    );
  }
}

/** The query parameter marks the module for the hooks, and makes a changed file a new module. */
async function importEntry(entry: string): Promise<{ default?: unknown }> {
  const { mtimeMs } = await stat(entry);
  await import(findHooks());
  const url = pathToFileURL(entry);
  url.searchParams.set("portolan-driver", String(mtimeMs));
  return (await import(url.href)) as { default?: unknown };
}

/** The hooks are beside this source file, and at the top of the built package. */
function findHooks(): string {
  for (const place of ["./register-driver-hooks.mjs", "../register-driver-hooks.mjs"]) {
    const url = new URL(place, import.meta.url);
    if (existsSync(url)) return url.href;
  }
  throw new PortolanError("INTERNAL", "A file of this program is missing: register-driver-hooks.mjs.", {
    hint: "Install portolan again. If you bundle portolan, copy register-driver-hooks.mjs beside the bundle.",
  });
}

async function load(entry: string, server: string, ms: number): Promise<DriverHandle | DriverHooksHandle> {
  const module = await within(importEntry(entry), {
    server,
    what: "loading its code",
    ms,
    signal: undefined,
  });
  const handle = module.default as DriverHandle | DriverHooksHandle | undefined;
  if (handle?.kind !== "driver" && handle?.kind !== "hooks")
    throw new PortolanError("FILE_INVALID", "its default export is not the result of defineDriverHooks()");
  return handle;
}
