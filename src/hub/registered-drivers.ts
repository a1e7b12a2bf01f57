// The drivers of a workspace as they were last registered, so that a breaking change under an old version is noticed the next time.

import { createHash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Driver, isObject } from "../model/index.ts";
import { withFileLock, writeWhole } from "../secrets/index.ts";

const MAX_BYTES = 16 * 1024 * 1024;

/** By id. What cannot be read counts as not known: the worst that follows is that one change goes unnoticed. */
export async function registeredDrivers(root: string): Promise<ReadonlyMap<string, Driver>> {
  return read(await fileOf(root));
}

/** Takes the place of what was known of these drivers. */
export async function rememberDrivers(root: string, drivers: readonly Driver[]): Promise<void> {
  const file = await fileOf(root);
  const known = await read(file);
  const changed = drivers.filter((driver) => JSON.stringify(known.get(driver.id)) !== JSON.stringify(driver));
  if (changed.length === 0) return;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await withFileLock(file, async () => {
    const all = new Map([...(await read(file)), ...changed.map((driver) => [driver.id, driver] as const)]);
    const bytes = Buffer.from(`${JSON.stringify({ version: 1, root, drivers: Object.fromEntries(all) })}\n`);
    if (bytes.length <= MAX_BYTES) await writeWhole(file, bytes, { mode: 0o600 });
  });
}

/** In the user's own data folder, one file for each workspace. */
async function fileOf(root: string): Promise<string> {
  const { default: envPaths } = await import("env-paths");
  const name = createHash("sha256").update(root).digest("hex").slice(0, 32);
  return join(envPaths("portolan", { suffix: "" }).data, "drivers", `${name}.json`);
}

async function read(file: string): Promise<Map<string, Driver>> {
  try {
    const value: unknown = JSON.parse(await readFile(file, "utf8"));
    const drivers: unknown = isObject(value) && value.version === 1 ? value.drivers : undefined;
    const entries = Object.entries(isObject(drivers) ? drivers : {});
    return new Map(entries.flatMap(([id, driver]) => (isDriver(driver) ? [[id, driver]] : [])));
  } catch {
    return new Map();
  }
}

/** As far as a comparison reads it. */
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
