// Check of `portolan add` for a program that this computer does not have, before any server starts.

import { type PortolanError, toPortolanError } from "../errors/index.ts";
import type { ServerConfig } from "../model/index.ts";
import { parseProgramOf, prepareProgram } from "./prepare.ts";

/**
 * The error with which a start of the server would fail, because its program is not found. Undefined for packages and images, which
 * Portolan downloads. `folder` is the working folder of a server whose config names none.
 */
export async function checkProgram(server: ServerConfig, folder: string): Promise<PortolanError | undefined> {
  const { alias, endpoint, launch } = server;
  if (endpoint.transport !== "stdio") return undefined;
  const request = {
    ...{ server: alias, settings: launch, dryRun: true },
    endpoint: { ...endpoint, cwd: endpoint.cwd ?? folder },
  };
  try {
    const program = parseProgramOf(request);
    if (program.kind === "binary") await prepareProgram(request, program);
    return undefined;
  } catch (thrown) {
    return toPortolanError(thrown);
  }
}
