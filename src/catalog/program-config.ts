// Config that a program passes in place of a folder: the fields of portolan.yaml or of a bridge manifest, checked by the same readers.

import { join, resolve } from "node:path";
import { type Diagnostic, PortolanError } from "../errors/index.ts";
import { readConfigFile } from "./files/read-file.ts";
import { parseValue } from "./formats.ts";
import { absoluteFolders, readLockText } from "./load.ts";
import { chooseNaming, finishServers, toSettings } from "./settings.ts";
import { type Catalog, LOCK_NAME } from "./types.ts";

/** Stands for the file and its format in the origin of a server. */
const PROGRAM = "program";
/** Fields of portolan.yaml that name other files of a folder. */
const ONLY_IN_FILES: readonly string[] = ["sources", "contracts"];

export interface ProgramCatalog extends Pick<Catalog, "folder" | "servers" | "settings" | "lock"> {
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
  const source = { file, parsed, diagnostics, valid: true };
  const naming = chooseNaming(settings, [source], diagnostics);
  const servers = finishServers(absoluteFolders(source), settings, undefined, diagnostics);
  const placeless = diagnostics.map(({ file: _f, line: _l, column: _c, ...rest }) => rest);
  const errors = placeless.filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw toConfigError(errors);
  // A program without a folder of its own has no lock file either.
  const lock =
    folder === undefined ? undefined : await readLockText(join(top, LOCK_NAME), { read: readConfigFile });
  const { setupInstructions } = parsed.manifest ?? {};
  return {
    folder: top,
    // Hints then name the fields to write, and no command that would change a file.
    servers: servers.map((server) => ({ ...server, origin: { ...server.origin, format: PROGRAM } })),
    settings: toSettings(settings, naming, top),
    lock,
    diagnostics: placeless,
    setupInstructions,
  };
}

function onlyInFiles(value: unknown): Diagnostic[] {
  if (typeof value !== "object" || value === null) return [];
  return ONLY_IN_FILES.filter((key) => Object.hasOwn(value, key)).map((key) => ({
    code: "CONFIG_INVALID",
    severity: "error",
    message: `${key} works only in a config file`,
    path: `/${key}`,
    hint: "Write it into portolan.yaml, and open the folder of that file: openWorkspace(folder).",
  }));
}

const MAX_SHOWN = 5;

function toConfigError(errors: readonly Omit<Diagnostic, "file">[]): PortolanError {
  const shown = errors.slice(0, MAX_SHOWN).map(({ message }) => message);
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
