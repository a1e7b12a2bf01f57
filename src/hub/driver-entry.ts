// The code beside a driver, run only if whoever opened the workspace says so, and never waited for long.

import { pathToFileURL } from "node:url";
import { type DriverEntry, type DriverHandle, mergeEntry } from "../contracts/index.ts";
import { PortolanError } from "../errors/index.ts";
import type { DeclaredDriver } from "../model/index.ts";
import { within } from "../upstream/index.ts";
import type { LeaseOptions } from "./lease-server.ts";

/** Loading a module must do nothing but define a driver, and all others wait for it. */
const LOAD_MS = 5_000;

/** The driver with the code beside its file, if that may be run; undefined when the driver cannot be used without it. */
export async function withEntry(
  declared: DeclaredDriver,
  { report, driverCode }: Pick<LeaseOptions, "report" | "driverCode">,
  loadMs: number = LOAD_MS,
): Promise<DriverEntry | undefined> {
  const { driver, entry } = declared;
  if (entry === undefined) return { driver };
  const refuse = (message: string, hint: string): undefined => {
    report({ code: "DECLARATION_INVALID", severity: "error", server: driver.id, message, hint, file: entry });
  };
  if (driverCode !== true)
    return refuse(
      `the driver ${driver.id} has code beside it, which is not run unless you say so`,
      "Read it, then allow it: --driver-code on the command line, driverCode: true in a program.",
    );
  try {
    const handle = await load(entry, driver.id, loadMs);
    const { driver: merged, hooks, warnings } = mergeEntry(declared, handle);
    for (const warning of warnings) report(warning);
    return { driver: merged, hooks };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const isTypes = /ERR_UNKNOWN_FILE_EXTENSION|Unknown file extension/.test(reason);
    return refuse(
      `the code of the driver ${driver.id} cannot be loaded: ${reason}`,
      isTypes
        ? "This Node reads no TypeScript: use Node 22.18 or newer, or compile it to driver.js."
        : "Correct the module; loading it must do nothing but define the driver.",
    );
  }
}

async function load(entry: string, server: string, ms: number): Promise<DriverHandle> {
  const loading = import(pathToFileURL(entry).href) as Promise<{ default?: unknown }>;
  const module = await within(loading, { server, what: "loading its code", ms, signal: undefined });
  const handle = module.default as DriverHandle | undefined;
  if (handle?.kind !== "driver")
    throw new PortolanError("DECLARATION_INVALID", "its default export is not what defineDriver() gives");
  return handle;
}
