// Check of `portolan validate` for paths that a config names and its sandbox hides or cannot grant, before any server starts.

import type { Diagnostic } from "../errors/index.ts";
import { grantCommand, type ServerConfig, hiddenPathMessage, pathGrantHint } from "../model/index.ts";
import { asSentence, checkPaths } from "./prepare.ts";

/** `folder` is the working folder of servers whose config names none. */
export async function checkHiddenPaths(server: ServerConfig, folder: string): Promise<Diagnostic[]> {
  const { alias, origin, endpoint, launch } = server;
  if (endpoint.transport === "contracts") {
    const drivers = endpoint.drivers.map(({ driver }): ServerConfig => {
      const settings = { ...driver.launch, cwdImplied: true };
      return {
        alias: driver.id,
        origin: driver.origin,
        enabled: true,
        endpoint: driver.endpoint,
        launch: settings,
      };
    });
    return (await Promise.all(drivers.map((driver) => checkHiddenPaths(driver, endpoint.root)))).flat();
  }
  if (endpoint.transport !== "stdio") return [];
  const { cwd } = endpoint;
  const { hidden, mistakes } = await checkPaths({
    server: alias,
    endpoint: { ...endpoint, cwd: cwd ?? folder },
    settings: { ...launch, cwdImplied: cwd === undefined || launch?.cwdImplied === true },
  });
  const { file, line, column } = origin;
  const command = grantCommand(server);
  const common = { severity: "warning", server: alias, file, line, column } as const;
  return [
    ...mistakes.map(({ rule, problem, remedy }): Diagnostic => ({
      ...{ ...common, code: "SANDBOX_UNAVAILABLE" },
      message: `The sandbox of server "${alias}" cannot be enforced: ${rule}: ${problem}.`,
      hint: asSentence(remedy),
    })),
    ...hidden.map((path): Diagnostic => ({
      ...common,
      code: path.isNew === true && path.isScript === true ? "SERVER_START_FAILED" : "SANDBOX_DENIED",
      message: hiddenPathMessage(alias, path),
      hint: pathGrantHint(path, command),
    })),
  ];
}
