// Grants that the servers of a workspace still need, with the hints that `portolan status` prints for the same servers.

import {
  dataFileAdvice,
  grantCommand,
  knownServer,
  programWords,
  type ServerConfig,
} from "../../model/index.ts";
import { shellWord } from "../../base/text/command-line.ts";
import type { Cli } from "../context.ts";
import { computerOf } from "../workspace/folder.ts";
import { copyDataCommand, missingHosts } from "./known-needs.ts";

export interface OpenGrant {
  readonly server: string;
  /** One for each problem. */
  readonly hints: readonly string[];
}

/** `folder` is the working folder of servers whose config names none. */
export async function openGrants(
  { io }: Cli,
  servers: readonly ServerConfig[],
  folder: string,
): Promise<OpenGrant[]> {
  const { checkHiddenPaths } = await import("../../launch/index.ts");
  const { chooseMode } = await import("../../sandbox/index.ts");
  const { home } = computerOf(io, folder);
  const open: OpenGrant[] = [];
  for (const server of servers) {
    const { alias, launch, enabled } = server;
    if (!enabled || chooseMode(launch, process.env).mode === "off") continue;
    const command = grantCommand(server, io.cwd);
    const hidden = await checkHiddenPaths(server, folder).catch(() => []);
    const data = dataFileAdvice(server, home, command);
    const known = knownServer(programWords(server));
    const hosts = missingHosts(server, known);
    const copy = await copyDataCommand({ io }, server, known);
    const hints = [
      ...hidden.flatMap(({ hint }) => hint ?? []),
      ...(data === undefined
        ? []
        : [`${data.hint}${copy === undefined ? "" : `. Its data until now: ${copy}`}`]),
      ...(hosts.length === 0 || command === undefined
        ? []
        : [`Grant it with: ${command} ${hosts.map((host) => `--net ${shellWord(host)}`).join(" ")}`]),
    ];
    if (hints.length > 0) open.push({ server: alias, hints });
  }
  return open;
}
