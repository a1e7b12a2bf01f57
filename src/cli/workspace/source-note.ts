// Note about the source of the servers, when it is not the user's own config file.

import { type ClientId, CLIENTS } from "../../formats/clients/index.ts";
import type { CliIo } from "../context.ts";
import { pathLabeller } from "./folder.ts";
import type { Source } from "./source.ts";

/** Undefined for servers of the user's own config files: their output names the file already. */
export function sourceNote({ kind, path, files, config }: Source, io: CliIo): string | undefined {
  const label = pathLabeller(io);
  const folder = path === io.cwd ? "here" : `in ${label(path)}`;
  if (config.servers.length === 0)
    return `There are no servers ${folder}. Add one: portolan add <name> -- <command...>, or portolan add <name> <url>`;
  if (kind === "workspace") return undefined;
  const from = files.map(({ file, format }) => `${titleOf(format)} (${label(file)})`);
  return `There is no config file ${folder}. These servers come from ${from.join(", ")}; Portolan only reads these files.`;
}

function titleOf(format: string): string {
  return CLIENTS[format as ClientId]?.title ?? format;
}
