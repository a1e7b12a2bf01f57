// The usual config file of an MCP client, for commands that write into it.

import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { didYouMean, PortolanError } from "../../errors/index.ts";
import {
  type ClientId,
  CLIENTS,
  type Computer,
  findClientFiles,
  type Scope,
} from "../../formats/clients/index.ts";
import { notAllowed } from "../options/usage-error.ts";

const SCOPES: readonly Scope[] = ["user", "project"];

/** An existing file, else the first usual path whose folder exists, else the first path. Paths with `*` are never guessed. */
export async function usualFile(
  client: ClientId,
  wanted: Scope | undefined,
  computer: Computer,
  /** The option that names a file, for the hint. */
  option: string,
): Promise<string> {
  const info = CLIENTS[client];
  const places = info.places(computer);
  const scope = wanted ?? (places.some((place) => place.scope === "user") ? "user" : "project");
  const [found] = (await findClientFiles(computer)).filter(
    (one) => one.client === client && one.scope === scope,
  );
  if (found !== undefined && (scope === "user" || dirname(found.file).startsWith(computer.cwd)))
    return found.file;
  const files = places
    .filter((place) => place.scope === scope && !place.file.includes("*"))
    .map(({ file }) => file);
  for (const file of files) if (await isFolder(dirname(file))) return file;
  const [first] = files;
  if (first !== undefined) return first;
  throw new PortolanError("USAGE", `${info.title} has no config file for the scope ${scope}.`, {
    hint: `Use --scope ${scope === "user" ? "project" : "user"}, or name the file: ${option}`,
  });
}

export function checkScope(scope: string | undefined): Scope | undefined {
  if (scope === undefined || (SCOPES as readonly string[]).includes(scope)) return scope as Scope | undefined;
  throw new PortolanError("USAGE", notAllowed("--scope", scope, SCOPES), {
    hint: didYouMean(scope, SCOPES),
  });
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
