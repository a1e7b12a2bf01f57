// The packages that the servers of a workspace come from, by their lock file.

import { type PackageReference, parsePackageReference, type ServerConfig } from "../../model/index.ts";
import { programOf } from "./programs.ts";

/** The references by the name of the server in the lock file, by the path of the lock file. */
export function packagesOf(servers: readonly ServerConfig[]): Map<string, Map<string, PackageReference>> {
  const files = new Map<string, Map<string, PackageReference>>();
  for (const server of servers) {
    const program = programOf(server);
    if (program?.kind !== "package") continue;
    const reference = parsePackageReference(program.package);
    // The file was read with errors, which the command reports before.
    if (typeof reference === "string") continue;
    const { file, server: name } = program.lock;
    const found = files.get(file) ?? new Map<string, PackageReference>();
    files.set(file, found.set(name, reference));
  }
  return files;
}
