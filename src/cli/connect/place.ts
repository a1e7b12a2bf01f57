// The workspace of a `connect` command, its gateway, and the records of connected clients.

import type { Cli } from "../context.ts";
import { computerOf, findWorkspace, type WorkspaceOptions } from "../workspace/folder.ts";
import { loadSource, type Source } from "../workspace/source.ts";
import { type GatewayPlace, thisProgram } from "./gateway-server.ts";
import type { PlanContext } from "./plan.ts";
import { openRecords } from "./records.ts";

export interface ConnectPlace extends Omit<PlanContext, "declared"> {
  readonly folder: string;
  readonly source: Source;
}

/** Throws when a config file of the workspace has errors. */
export async function openPlace(
  cli: Cli,
  options: WorkspaceOptions & { readonly http?: boolean },
): Promise<ConnectPlace> {
  const { io } = cli;
  const { path, folder } = await findWorkspace(io, options);
  const source = await loadSource(cli);
  const settings = source.config.gateway ?? {};
  const program = thisProgram(io.version, io.platform);
  const place: GatewayPlace = { workspace: path, program, settings, http: options.http === true };
  return { computer: computerOf(io, folder), records: await openRecords(), place, folder, source };
}

/** The servers that the workspace's own files declare. */
export function declaredBy({ kind, config }: Source): PlanContext["declared"] {
  return kind === "workspace" ? config.servers : [];
}
