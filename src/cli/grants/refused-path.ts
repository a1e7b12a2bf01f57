// Paths that the sandbox policy never grants: the commands refuse them before they write the grant to a file.

import { CONFIG_FILE, OWN_DATA } from "../../model/index.ts";
import { createConfigFiles, isOwnData, refusesWriteGrant } from "../../sandbox/index.ts";
import type { Cli } from "../context.ts";
import { computerOf } from "../workspace/folder.ts";
import { loadSource } from "../workspace/source.ts";

/** Returns the reason; undefined if the policy grants the path. With such a grant, the server would not start. */
export async function refusedPath(
  cli: Cli,
  access: "read" | "write",
  path: string,
): Promise<string | undefined> {
  if (isOwnData(path)) return OWN_DATA;
  if (access === "read") return undefined;
  const configFiles = createConfigFiles();
  // Also without a workspace that can be read, the policy protects the usual config files of the working folder.
  const source = await loadSource(cli).catch(() => undefined);
  if (source?.config.usedPaths !== undefined) configFiles.add(source.config.usedPaths);
  const { home: homedir } = computerOf(cli.io, cli.io.cwd);
  return (await refusesWriteGrant(path, { configFiles, homedir })) ? CONFIG_FILE : undefined;
}
