// The driver of a package: DRIVER.md and TOOL.md files in the metadata document, and the parts of a driver that no package has.

import type { FindPackagedDrivers, PackagedDriver } from "../../catalog/index.ts";
import { type Diagnostic, isPortolanError, PortolanError } from "../../errors/index.ts";
import { parseDriver, parseTool } from "../../formats/driver/index.ts";
import type { PackageMetadata } from "../../formats/package/index.ts";
import type { Contract, Driver } from "../../model/index.ts";
import { parseLock } from "../lock/lock-file.ts";
import type { LockedPackage } from "../lock/schema.ts";
import { readDocument } from "./documents.ts";
import { parseDocument } from "./read-document.ts";

export interface DriverFiles {
  readonly driver: Driver;
  readonly contracts: readonly Contract[];
}

/**
 * Why a driver cannot be a package: it has a part that reads files of its workspace, or runs something outside of the sandbox that
 * a person grants to the server.
 */
export function packagedDriverProblem({ auth, prompts, healthCheck }: Driver): string | undefined {
  const { login, refresh, state, ref } = auth ?? {};
  if (login !== undefined || refresh !== undefined || (state?.paths.length ?? 0) > 0)
    return "each user logs in to it, but a package supports settings only, no logins";
  if (ref !== undefined)
    return `it needs the secrets file ${ref}, but the secrets of a package must be its settings`;
  const skill = prompts.find((prompt) => prompt.integrateAs === "skill_block");
  if (skill !== undefined)
    return `its prompt ${skill.name} belongs to a skill, which a package cannot contain`;
  const { method } = healthCheck ?? {};
  if (method === "exec" || method === "http")
    return `its health check (${method}) would run outside of the sandbox; use ping or noop`;
  return undefined;
}

/** Reads the driver of a document. Throws if its files have errors. Undefined for a package without a driver. */
export function readDriverFiles({ name, version, mcp }: PackageMetadata): DriverFiles | undefined {
  if (mcp.driver === undefined) return undefined;
  const label = `${name}@${version}`;
  const { "DRIVER.md": text = "", ...tools } = mcp.driver;
  const { driver, diagnostics } = parseDriver(text, `${label}/DRIVER.md`);
  const read = Object.entries(tools).map(([path, tool]) => parseTool(tool, `${label}/${path}`));
  const all = [...diagnostics, ...read.flatMap((tool) => tool.diagnostics)];
  const error = all.find(({ severity }) => severity === "error");
  const problem = driver === undefined ? undefined : packagedDriverProblem(driver);
  if (driver === undefined || error !== undefined || problem !== undefined)
    throw new PortolanError(
      "FILE_INVALID",
      `The driver of ${label} cannot be used: ${error?.message ?? problem ?? "it is not a driver of an MCP server"}.`,
      { hint: "Report this to the author of the package.", data: { diagnostics: all } },
    );
  return { driver, contracts: read.flatMap(({ contract }) => contract ?? []) };
}

/** The contracts of a package as the lock file names them; undefined for a package without a driver. */
export function contractsOf(metadata: PackageMetadata): readonly string[] | undefined {
  return readDriverFiles(metadata)
    ?.contracts.map(({ id, version }) => `${id} ${version}`)
    .sort();
}

/** The drivers of the packages that are on this machine. A package that is not, or whose driver has errors, is reported. */
export const findPackagedDrivers: FindPackagedDrivers = async (servers, { file, text = "" }) => {
  // A broken lock file is reported where its pins are read.
  const { lock } = parseLock(text, file);
  const drivers: PackagedDriver[] = [];
  const diagnostics: Diagnostic[] = [];
  for (const server of servers) {
    const { alias, endpoint, enabled, origin } = server;
    const entry = Object.hasOwn(lock?.servers ?? {}, alias) ? lock?.servers[alias]?.package : undefined;
    if (!enabled || endpoint.transport !== "stdio" || endpoint.kind !== "package") continue;
    if (entry?.contracts === undefined || entry.contracts.length === 0) continue;
    try {
      drivers.push({ server, ...(await readLockedDriver(entry, alias)) });
    } catch (error) {
      if (!isPortolanError(error)) throw error;
      const { code, message, hint } = error;
      const place = { file: origin.file, line: origin.line, column: origin.column };
      diagnostics.push({ code, severity: "error", server: alias, message, hint, ...place });
    }
  }
  return { drivers, diagnostics };
};

async function readLockedDriver(
  { name, version, metadata = "" }: LockedPackage,
  server: string,
): Promise<Omit<PackagedDriver, "server">> {
  const label = `${name}@${version}`;
  const bytes = await readDocument(metadata);
  if (bytes === undefined)
    throw new PortolanError(
      "INSTALL_FAILED",
      `The package ${label} is not installed, so Portolan does not offer its contracts.`,
      { server, hint: `Install it: portolan install ${server}` },
    );
  const document = parseDocument(bytes, label);
  readDriverFiles(document);
  return { label, files: document.mcp.driver ?? {} };
}
