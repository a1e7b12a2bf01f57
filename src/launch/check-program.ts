// Checks of `portolan add` and `portolan validate` for a program that this computer does not have, and for one whose folder is the
// folder of the workspace, before any server starts.

import { realpath } from "node:fs/promises";
import { sep } from "node:path";
import { type Diagnostic, type PortolanError, toPortolanError } from "../errors/index.ts";
import type { ServerConfig } from "../model/index.ts";
import { checkPaths, parseProgramOf, prepareProgram } from "./prepare.ts";

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

/**
 * Notes that a server can read the whole folder of the workspace, because its script is directly in it. `folder` is the folder of the
 * workspace.
 */
export async function checkProgramFolder(server: ServerConfig, folder: string): Promise<Diagnostic[]> {
  const { alias, origin, endpoint, launch } = server;
  if (endpoint.transport !== "stdio") return [];
  const { ownPaths } = await checkPaths({
    server: alias,
    endpoint: { ...endpoint, cwd: endpoint.cwd ?? folder },
    settings: { ...launch, cwdImplied: true },
  });
  const real = await realpath(folder).catch(() => folder);
  const around = ownPaths.find((path) => `${real}${sep}`.startsWith(path.endsWith(sep) ? path : path + sep));
  if (around === undefined) return [];
  const { file, line, column } = origin;
  return [
    {
      ...{ code: "CONFIG_INVALID", severity: "info", server: alias, file, line, column },
      message: `The server ${alias} can read the folder of the workspace, because its program is in ${around}. Its sandbox hides only .env files there, and the files that the config names as secrets`,
      hint: `If the server should read less, move its script into a folder of its own. If ${around} has a package.json or a similar file, the new folder needs one too. Or hide single paths: sandbox: { fs: { deny: [./private] } }`,
    },
  ];
}
