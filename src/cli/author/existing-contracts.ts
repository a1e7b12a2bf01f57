// The contracts that a workspace has already, with or without drivers that serve them.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseTool } from "../../formats/driver/index.ts";
import type { Contract } from "../../model/index.ts";

/** Those that are right; a TOOL.md with errors is for `portolan validate` to tell. */
export async function existingContracts(folder: string): Promise<readonly Contract[]> {
  const drivers = await folders(join(folder, ".drivers"));
  const places = [
    join(folder, "tools"),
    join(folder, ".tools"),
    ...drivers.map((driver) => join(driver, "tools")),
  ];
  const tools = (await Promise.all(places.map(folders))).flat();
  const contracts = await Promise.all(
    tools.map(async (tool) => {
      const file = join(tool, "TOOL.md");
      const text = await readFile(file, "utf8").catch(() => undefined);
      return text === undefined ? undefined : parseTool(text, file).contract;
    }),
  );
  return contracts.filter((contract) => contract !== undefined);
}

async function folders(parent: string): Promise<string[]> {
  const entries = await readdir(parent, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
    .map(({ name }) => join(parent, name))
    .toSorted();
}
