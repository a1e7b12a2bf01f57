// Hint about an unknown server that is in the config file of an MCP client, which a workspace with its own config files does not use.

import { findPlainSecrets } from "../../formats/clients/index.ts";
import { changedError, isPortolanError } from "../../errors/index.ts";
import type { ServerConfig } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { optionFor } from "./elsewhere.ts";
import { computerOf, pathLabeller } from "./folder.ts";
import { requireServer, type Source } from "./source.ts";

/** Names the file of the client and the command that copies the server; undefined if no client has such a server. */
export async function clientHint(
  { io }: Pick<Cli, "io">,
  source: Source,
  name: string,
): Promise<string | undefined> {
  if (source.kind === "clients") return undefined;
  const { folder = source.path } = source.config;
  const files = await io.importClients(computerOf(io, folder)).catch(() => []);
  const found = files
    .flatMap(({ servers }) => servers)
    .find(({ alias }) => alias === name || name.startsWith(`${alias}.`));
  if (found === undefined || source.files.some(({ file }) => file === found.origin.file)) return undefined;
  const secrets = findPlainSecrets(found).length > 0 ? " --secrets vault" : "";
  const file = pathLabeller(io)(found.origin.file);
  return `${found.alias} is in ${file}, which this workspace does not use, because it has config files of its own. To copy the servers of MCP clients into this workspace: portolan import --write${secrets}${optionFor(source.path, io)}.`;
}

/** Like `requireServer`; the error also says if the server is in the file of an MCP client. */
export async function requireServerHere(cli: Cli, source: Source, alias: string): Promise<ServerConfig> {
  try {
    return requireServer(source, alias);
  } catch (thrown) {
    const hint = isPortolanError(thrown) ? await clientHint(cli, source, alias) : undefined;
    if (hint === undefined || !isPortolanError(thrown)) throw thrown;
    throw changedError(thrown, { hint: `${hint} ${thrown.hint}`.trimEnd() });
  }
}
