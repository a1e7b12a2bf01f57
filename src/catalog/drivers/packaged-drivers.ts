// Drivers of packages among those of a workspace: their files are texts of the metadata document, under paths that no file has.

import { join } from "node:path";
import type { ConfiguredDriver, ServerConfig } from "../../model/index.ts";
import type { FileText } from "../files/read-file.ts";
import { LOCK_NAME, type PackagedDriver } from "../types.ts";

export interface PlacedDrivers {
  /** The server of each DRIVER.md, by its path. */
  readonly servers: ReadonlyMap<string, ServerConfig>;
  /** The paths of the TOOL.md files. */
  readonly contracts: readonly string[];
  /** Undefined for a file of the workspace. */
  readonly read: (file: string) => Promise<FileText> | undefined;
  /** The driver as its package and its server make it: started as the server is, with the sandbox that a person granted. */
  readonly complete: (declared: ConfiguredDriver) => ConfiguredDriver;
}

/** Paths are below the lock file, which names the packages: `portolan.lock/@alice/tracker@1.0.0/DRIVER.md`. */
export function placePackaged(top: string, packaged: readonly PackagedDriver[]): PlacedDrivers {
  const all = join(top, LOCK_NAME);
  const texts = new Map<string, string>();
  const servers = new Map<string, ServerConfig>();
  for (const { server, label, files } of packaged)
    for (const [name, text] of Object.entries(files)) {
      const file = join(all, label, name);
      texts.set(file, text);
      if (name === "DRIVER.md") servers.set(file, server);
    }
  return {
    servers,
    contracts: [...texts.keys()].filter((file) => !servers.has(file)),
    read: (file) => {
      const text = texts.get(file);
      if (text !== undefined) return Promise.resolve({ kind: "text", text });
      // Other files beside the driver, such as code, are not part of a package.
      return file !== all && file.startsWith(all) && packaged.length > 0
        ? Promise.resolve({ kind: "missing" })
        : undefined;
    },
    complete: (declared) => {
      const { driver } = declared;
      const server = servers.get(driver.origin.file);
      if (server?.endpoint.transport !== "stdio") return declared;
      const { endpoint, launch = {}, alias, pins } = server;
      return { driver: { ...driver, auth: undefined, endpoint, launch, packaged: { server: alias, pins } } };
    },
  };
}
