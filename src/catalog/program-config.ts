// Config that a program passes in place of a folder: the fields of portolan.yaml or of a bridge manifest, checked by the same readers.

import { join, resolve } from "node:path";
import { type Diagnostic, PortolanError } from "../errors/index.ts";
import { readConfigFile } from "./files/read-file.ts";
import { listedSources, secretFiles, type UsedPaths, usedPaths } from "./files/sources.ts";
import { parseValue } from "./formats.ts";
import { absoluteFolders, readLockText, sandboxedOutside } from "./load.ts";
import { mergeServers } from "./merge.ts";
import { readSource } from "./read-source.ts";
import { chooseNaming, finishServers, namesOfInvalid, toSettings } from "./settings.ts";
import { type Catalog, LOCK_NAME } from "./types.ts";

/** Stands for the file and its format in the origin of a server. */
const PROGRAM = "program";

export interface ProgramCatalog extends Pick<Catalog, "folder" | "servers" | "settings" | "lock"> {
  /** The sources and the files with secrets, which no server may write; undefined if there are none. */
  readonly usedPaths: UsedPaths | undefined;
  readonly diagnostics: readonly Diagnostic[];
  readonly setupInstructions?: string;
}

/** Throws CONFIG_INVALID with all errors at once. `folder` is the folder that paths are relative to. */
export async function readProgramConfig(value: unknown, folder: string | undefined): Promise<ProgramCatalog> {
  const top = resolve(folder ?? ".");
  const file = join(top, PROGRAM);
  const parsed = await parseValue(value, file);
  const diagnostics: Diagnostic[] = [...parsed.diagnostics, ...onlyInFiles(value)];
  const settings = parsed.workspace ?? { defaults: {} };
  const sources = await listedSources(top, file, settings.sources ?? [], undefined);
  const read = await Promise.all(
    sources.files.map((one) => readSource(one, file, { folder: top }, new Map())),
  );
  const all = [{ file, parsed, diagnostics: [], valid: true }, ...read];
  diagnostics.push(...sources.diagnostics, ...read.flatMap((one) => one.diagnostics));
  const merged = mergeServers(all.map((one) => absoluteFolders(one)));
  diagnostics.push(...merged.diagnostics);
  const naming = chooseNaming(settings, all, diagnostics);
  const invalid = namesOfInvalid(diagnostics);
  const servers = finishServers(merged.servers, settings, undefined, diagnostics, invalid).map((server) =>
    server.origin.file === file
      ? // Hints then name the fields to write, and no command that would change a file.
        { ...server, origin: { ...server.origin, format: PROGRAM } }
      : sandboxedOutside(server, top),
  );
  const placeless = diagnostics.map((diagnostic) => {
    const { file: place, line: _l, column: _c, ...rest } = diagnostic;
    return place === undefined || place === file ? rest : diagnostic;
  });
  const errors = placeless.filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw toConfigError(errors);
  // A program without a folder of its own has no lock file either.
  const lock =
    folder === undefined ? undefined : await readLockText(join(top, LOCK_NAME), { read: readConfigFile });
  const { setupInstructions } = parsed.manifest ?? {};
  const files = read.map((one) => one.file);
  const own = toSettings(settings, naming, top);
  const secrets = secretFiles(own, top);
  return {
    folder: top,
    servers,
    settings: own,
    lock,
    usedPaths:
      files.length + secrets.length === 0
        ? undefined
        : usedPaths(top, false, [...files, ...secrets], secrets),
    diagnostics: placeless,
    setupInstructions,
  };
}

/** Contracts and their drivers are files of a folder. */
function onlyInFiles(value: unknown): Diagnostic[] {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, "contracts")) return [];
  return [
    {
      code: "CONFIG_INVALID",
      severity: "error",
      message: "contracts works only in a config file",
      path: "/contracts",
      hint: "Write the whole configuration into a portolan.yaml, and pass the folder of that file in place of the object.",
    },
  ];
}

const MAX_SHOWN = 5;

function toConfigError(errors: readonly Diagnostic[]): PortolanError {
  const shown = errors
    .slice(0, MAX_SHOWN)
    .map(({ message, file, line }) => (file === undefined ? message : `${file}:${line ?? 1}: ${message}`));
  const more = errors.length > MAX_SHOWN ? [`and ${errors.length - MAX_SHOWN} more`] : [];
  const [first] = errors;
  return new PortolanError(
    "CONFIG_INVALID",
    `the configuration is not valid: ${[...shown, ...more].join("; ")}`,
    {
      server: errors.length === 1 ? first?.server : undefined,
      hint: first?.hint,
      data: { diagnostics: errors.map((error) => ({ ...error, code: "CONFIG_INVALID" })) },
    },
  );
}
