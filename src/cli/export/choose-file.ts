// Chooses the config file of another client: the one that the user named, or the client's usual one.

import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { didYouMean, PortolanError } from "../../errors/index.ts";
import {
  type ClientId,
  CLIENTS,
  type Computer,
  findClientFiles,
  type Scope,
} from "../../formats/clients/index.ts";

export interface PlaceOptions {
  /** A path, or true for the usual file. */
  readonly write: string | boolean;
  readonly scope: string | undefined;
  readonly computer: Computer;
  readonly cwd: string;
  /** Aliases of the workspace, to detect an alias in the place of a file. */
  readonly known: ReadonlySet<string>;
}

const SCOPES: readonly Scope[] = ["user", "project"];

export async function chooseFile(client: ClientId, options: PlaceOptions): Promise<string> {
  const { write, cwd, known } = options;
  const scope = checkScope(options.scope);
  if (typeof write !== "string") return usualFile(client, scope, options.computer);
  if (scope !== undefined)
    throw new PortolanError("USAGE", "--scope chooses the usual file, and --write names another.", {
      hint: "Leave out one of them.",
    });
  if (known.has(write))
    throw new PortolanError("USAGE", `${JSON.stringify(write)} is a server, but --write takes a file.`, {
      hint: `Put --write last: portolan export --for ${client} ${write} --write. For a file of that name: --write ./${write}`,
    });
  return resolve(cwd, write);
}

/** An existing file, else the first usual path whose folder exists, else the first path. Paths with `*` are never guessed. */
async function usualFile(client: ClientId, wanted: Scope | undefined, computer: Computer): Promise<string> {
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
  throw new PortolanError("USAGE", `${info.title} has no file of the ${scope}.`, {
    hint: `Name a file: --write <file>, or --scope ${scope === "user" ? "project" : "user"}.`,
  });
}

function checkScope(scope: string | undefined): Scope | undefined {
  if (scope === undefined || (SCOPES as readonly string[]).includes(scope)) return scope as Scope | undefined;
  throw new PortolanError("USAGE", `--scope must be user or project, got ${JSON.stringify(scope)}.`, {
    hint: didYouMean(scope, SCOPES),
  });
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
