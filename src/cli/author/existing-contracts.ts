// The contracts that a workspace has already, with or without drivers that serve them, and the driver that is to be made.

import { readdir, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { parseDriver, parseTool } from "../../formats/driver/index.ts";
import type { Contract, Driver } from "../../model/index.ts";
import { driverFolder } from "./identify.ts";

/** Those that are right; a TOOL.md with errors is for `portolan validate` to tell. `driver` may mean some elsewhere. */
export async function existingContracts(
  folder: string,
  driver: Driver | undefined,
): Promise<readonly Contract[]> {
  const drivers = await folders(join(folder, ".drivers"));
  const places = [join(folder, "tools"), join(folder, ".tools"), ...drivers.map((one) => join(one, "tools"))];
  const usual = (await Promise.all(places.map(folders))).flat().map((tool) => join(tool, "TOOL.md"));
  const named = driver?.implements.flatMap(({ tool }) => filesOf(tool, driver, folder)) ?? [];
  const contracts = await Promise.all(
    [...new Set([...usual, ...named])].map(async (file) => {
      const text = await textOf(file);
      return text === undefined ? undefined : parseTool(text, file).contract;
    }),
  );
  return contracts.filter((contract) => contract !== undefined);
}

/** The driver of this id as it is now; undefined when there is none, or one that cannot be read. */
export async function existingDriver(folder: string, id: string): Promise<Driver | undefined> {
  const home = driverFolder(folder, id);
  const [file, server] = [join(home, "DRIVER.md"), join(home, "server.json")];
  const [text, serverText] = await Promise.all([file, server].map(textOf));
  if (text === undefined) return undefined;
  const serverJson = serverText === undefined ? undefined : { text: serverText, file: server };
  const { driver } = parseDriver(text, file, { serverJson });
  return driver?.id === id ? driver : undefined;
}

/** Where a binding may mean its contract to be. */
function filesOf(tool: string, { origin }: Driver, folder: string): string[] {
  if (!/[\\/]|\.md$/i.test(tool)) return [];
  return [folder, dirname(origin.file)].map((base) =>
    /\.md$/i.test(tool) ? resolve(base, tool) : resolve(base, tool, "TOOL.md"),
  );
}

export async function textOf(file: string): Promise<string | undefined> {
  return readFile(file, "utf8").catch(() => undefined);
}

export async function folders(parent: string): Promise<string[]> {
  const entries = await readdir(parent, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
    .map(({ name }) => join(parent, name))
    .toSorted();
}
