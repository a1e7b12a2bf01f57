// The HOME that a server keeps from one start to the next, when its declaration asks for one.

import { createHash } from "node:crypto";
import { join } from "node:path";

/** One per server of one workspace: the same alias elsewhere is another server. */
export async function keptHomeOf(server: string, place: string): Promise<string> {
  const { default: envPaths } = await import("env-paths");
  const hash = createHash("sha256").update(`${place}\0${server}`).digest("hex").slice(0, 16);
  const name = `${server.replace(/[^\w.-]/g, "_").slice(0, 40)}-${hash}`;
  return join(envPaths("portolan", { suffix: "" }).data, "homes", name);
}
