// Check of an audit for servers that run npm packages without `package:`, such as `npx`: their installed files.

import { parseIntegrity } from "../../base/text/integrity.ts";
import { defaultStoreRoot, inspectPackage, verifyNpm } from "../../install/index.ts";
import { createLaunchContext, preferLocal } from "../../launch/index.ts";
import type { ServerConfig } from "../../model/index.ts";
import { npmProgramOf } from "../install/npm-updates.ts";
import { noProgram, programOf } from "../workspace/programs.ts";
import { checkFiles } from "./check-files.ts";
import type { Finding } from "./findings.ts";

/** The findings about a server without `package:`, or the reason why it cannot be checked. */
export async function checkNpm(
  server: ServerConfig,
  servers: readonly ServerConfig[],
): Promise<readonly Finding[] | string> {
  const endpoint = programOf(server);
  if (endpoint === undefined) return noProgram(server);
  const program = npmProgramOf(server);
  if (program === undefined) return "runs a program that is no package";
  const context = { ...createLaunchContext(), servers };
  if ((await preferLocal(program, { server: server.alias, endpoint, context })).kind !== "npm")
    return "runs a program in node_modules of the project, not a package that Portolan installed";
  const { spec, dependencies } = program;
  const identity = { spec, dependencies, integrity: parseIntegrity(program.integrity ?? "") };
  const found = await inspectPackage(identity);
  const label = found === undefined ? spec : `${found.record.name}@${found.record.version}`;
  return checkFiles(server, label, await verifyNpm({ ...identity, root: await defaultStoreRoot() }));
}
