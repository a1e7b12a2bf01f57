// Where the servers come from, in words.

import { type ClientId, CLIENTS } from "../../formats/clients/index.ts";
import type { CliIo } from "../context.ts";
import { pathLabeller } from "./folder.ts";
import type { Source } from "./source.ts";

/** Nothing for a workspace of the user's own: there the servers themselves say where they are declared. */
export function sourceNote({ kind, path, files, config }: Source, io: CliIo): string | undefined {
  const label = pathLabeller(io);
  const folder = path === io.cwd ? "here" : `in ${label(path)}`;
  if (config.servers.length === 0)
    return `No servers are declared ${folder}. Add one: portolan add <name> -- <command...>, or portolan add <name> <url>`;
  if (kind === "workspace") return undefined;
  const from = files.map(({ file, format }) => `${titleOf(format)} (${label(file)})`);
  return `Nothing is declared ${folder}. These servers are known to ${from.join(", ")}; they are only read, nothing is written.`;
}

function titleOf(format: string): string {
  return CLIENTS[format as ClientId]?.title ?? format;
}
