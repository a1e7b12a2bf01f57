// Errors of calls to a server that is disabled, or that a person stopped.

import { shellWord } from "../../base/text/command-line.ts";
import { disabledHint, PortolanError } from "../../errors/index.ts";
import type { ServerConfig } from "../../model/index.ts";

export function disabledError(config: ServerConfig): PortolanError {
  const { alias } = config;
  return new PortolanError("SERVER_DISABLED", `${alias} is disabled`, {
    server: alias,
    hint: disabledHint(config),
  });
}

export function stoppedError(alias: string): PortolanError {
  return new PortolanError("CONNECTION_CLOSED", `the call was not sent: ${alias} is stopped`, {
    server: alias,
    hint: `Start the server in the console, or in the folder of its workspace: portolan restart ${shellWord(alias)}`,
    data: { neverRan: true },
  });
}
