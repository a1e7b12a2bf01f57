// The command that grants a server more, as hints print it.

import { basename, dirname, isAbsolute, relative } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import type { ServerConfig } from "../config/server-definition.ts";

/** Config files that Portolan finds by their names in the folder of a workspace. */
const FOUND = /^(?:portolan|mcpfile)\.ya?ml$|^\.?mcp\.json$/i;
const OWN_FORMATS: ReadonlySet<string> = new Set(["workspace", "manifest", "mcpfile"]);

/** In place of a working folder: the command must work in every folder, so it names the file by its whole path. */
export const ANYWHERE = "";

/** In place of a command: a program declares the server, so that hints name the fields to write. */
export const IN_PROGRAM = "";

/** In place of a command: a driver defines the server, so that hints name the fields of its DRIVER.md. */
export const IN_DRIVER = "DRIVER.md";

/** Where hints place the fields of a driver. A driver can also be defined in code, with the same fields. */
export const DRIVER_PLACE = "in the definition of the driver (DRIVER.md)";

/**
 * `portolan grant files`, with `-w` where the command needs it in this working folder. Undefined for a server that
 * is in no config file; `IN_DRIVER` for the server of a driver, `IN_PROGRAM` for one that a program declares.
 */
export function grantCommand(
  { alias, origin: { file, format } }: Pick<ServerConfig, "alias" | "origin">,
  cwd: string = process.cwd(),
): string | undefined {
  if (format === "program") return IN_PROGRAM;
  if (format === "driver") return IN_DRIVER;
  if (!isAbsolute(file) || format === "command line") return undefined;
  const command = `portolan grant ${shellWord(alias)}`;
  // The file of another client belongs to the folder that the command runs in.
  if (!OWN_FORMATS.has(format) || (dirname(file) === cwd && FOUND.test(basename(file)))) return command;
  if (cwd === ANYWHERE) return `${command} -w ${shellWord(file)}`;
  const short = relative(cwd, file);
  return `${command} -w ${shellWord(short.startsWith("..") ? file : short)}`;
}
