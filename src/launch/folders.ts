// Where this room keeps things between runs: what was installed, and the HOMEs that servers keep.

import { createHash } from "node:crypto";
import { join } from "node:path";

export async function storeFolder(): Promise<string> {
  return join(await dataFolder(), "store");
}

/** One per server of one workspace: the same alias elsewhere is another server. */
export async function keptHomeOf(server: string, place: string): Promise<string> {
  const hash = createHash("sha256").update(`${place}\0${server}`).digest("hex").slice(0, 16);
  return join(await dataFolder(), "homes", `${server.replace(/[^\w.-]/g, "_").slice(0, 40)}-${hash}`);
}

async function dataFolder(): Promise<string> {
  const { default: envPaths } = await import("env-paths");
  return envPaths("portolan", { suffix: "" }).data;
}
