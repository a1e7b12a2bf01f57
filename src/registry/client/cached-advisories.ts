// Advisories of a version from the index that was stored last, so that a start needs no network.

import { join } from "node:path";
import { isPortolanError } from "../../errors/index.ts";
import { advisoriesFor } from "../catalog/advisory.ts";
import type { Advisory } from "../catalog/types.ts";
import { openRegistry } from "./client.ts";

/** The folder in the user's data for what is remembered about registries. */
export async function defaultStateFolder(): Promise<string> {
  const { default: envPaths } = await import("env-paths");
  return join(envPaths("portolan", { suffix: "" }).data, "registries");
}

/** Empty if nothing is stored about the registry. */
export async function cachedAdvisories(
  registry: string,
  { name, version, hashes }: { name: string; version: string; hashes: readonly string[] },
  stateFolder?: string,
): Promise<readonly Advisory[]> {
  const options = { stateFolder: stateFolder ?? (await defaultStateFolder()) };
  try {
    const { advisories } = await openRegistry({ url: registry }, options).index({ offline: true });
    return advisoriesFor(advisories, name, version, hashes);
  } catch (error) {
    if (isPortolanError(error)) return [];
    throw error;
  }
}
