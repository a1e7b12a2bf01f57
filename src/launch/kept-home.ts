// The HOME folder of a server whose config says `home: kept`: it survives from one start to the next.

import { createHash } from "node:crypto";
import { join } from "node:path";
import { machineFault, PortolanError } from "../errors/index.ts";
import { makeFolder } from "../install/index.ts";

/** The path depends on the workspace and the server: the same alias in another workspace has another HOME. */
export async function keptHomeOf(server: string, place: string): Promise<string> {
  const { default: envPaths } = await import("env-paths");
  const hash = createHash("sha256").update(`${place}\0${server}`).digest("hex").slice(0, 16);
  const name = `${server.replace(/[^\w.-]/g, "_").slice(0, 40)}-${hash}`;
  return join(envPaths("portolan", { suffix: "" }).data, "homes", name);
}

/** Creates the folder. */
export async function makeHome(path: string, server: string): Promise<void> {
  try {
    await makeFolder(path, 0o700);
  } catch (cause) {
    const fault = machineFault(cause);
    const reason = fault?.what ?? (cause as Error).message;
    throw new PortolanError(
      "FILE_FAILED",
      `the folder for the kept HOME of ${server} cannot be created: ${path}: ${reason}`,
      {
        server,
        cause,
        data: { path, reason: (cause as NodeJS.ErrnoException).code },
        hint: "Make the parent folder writable, or remove home: kept from the server's sandbox. On Linux, XDG_DATA_HOME sets another folder for Portolan's data.",
      },
    );
  }
}
