// Gathers what `portolan pack DRIVER.md` writes: the npm package of the driver's server, and the driver with its contracts.

import { basename, dirname, normalize, resolve, sep } from "node:path";
import { integrityOf, toSri } from "../../base/text/integrity.ts";
import { checkDriver } from "../../contracts/index.ts";
import { PortolanError } from "../../errors/index.ts";
import { parseDriver } from "../../formats/driver/index.ts";
import { DRIVER_FILE } from "../../formats/package/index.ts";
import { type ConfiguredDriver, type Contract, type Driver, majorKey } from "../../model/index.ts";
import { factsOfDriver, factsOfNpm, packagedDriverProblem } from "../../packages/index.ts";
import type { Cli } from "../context.ts";
import type { Gathered } from "./gather.ts";
import { readNpmManifest } from "./npm-manifest.ts";
import { readText, refuseErrors } from "./source-files.ts";

type NpmDriver = Driver & { readonly server: { readonly kind: "npm" } };

/** The driver is read as its workspace reads it, so that bindings to contracts of the workspace are found. */
export async function gatherDriver(
  cli: Cli,
  file: string,
  fetchNpm: (what: string) => Promise<Buffer>,
): Promise<Gathered> {
  const { folder: root, servers, diagnostics } = await cli.io.loadCatalog(file);
  refuseErrors(cli, diagnostics);
  const endpoint = servers
    .map((server) => server.endpoint)
    .find(({ transport }) => transport === "contracts");
  const configured = endpoint?.transport === "contracts" ? endpoint.drivers[0] : undefined;
  const contracts = endpoint?.transport === "contracts" ? endpoint.contracts : [];
  if (configured === undefined)
    throw new PortolanError("FILE_INVALID", `${basename(file)} is not a driver of an MCP server.`, {
      hint: "Only drivers of kind mcp can be packed.",
    });
  const driver = requirePackable(configured, file);
  if (parseDriver(await readText(file), file).driver === undefined)
    throw new PortolanError(
      "NOT_SUPPORTED",
      `The driver ${driver.id} cannot be packed: its server is described in server.json, which a package cannot contain.`,
      { hint: `Write the server into ${basename(file)}.` },
    );
  const { bound, diagnostics: unbound } = checkDriver(driver, contracts, undefined, { root });
  refuseErrors(cli, unbound);
  const files = await filesOf(driver, new Set(bound.map(({ contract }) => contract)), root);
  const { server } = driver;
  const bytes = await fetchNpm(server.package);
  const npm = factsOfNpm({
    manifest: await readNpmManifest(bytes),
    ...{ hash: toSri(integrityOf(bytes, "sha512")), size: bytes.length },
  });
  const fixed = Object.entries(server.env).filter(([, value]) => !value.includes("${"));
  return {
    facts: factsOfDriver(driver, npm, files),
    folder: dirname(file),
    notes: fixed.map(
      ([name]) =>
        `The driver sets the environment variable ${name}, which a package cannot do. In mcp.configuration of the metadata file, add a setting with the value in the driver as its default.`,
    ),
  };
}

/** Throws with the reason if the driver cannot be a package. */
function requirePackable({ driver, entry }: ConfiguredDriver, file: string): NpmDriver {
  const { server, id } = driver;
  const refused = (why: string, hint: string): PortolanError =>
    new PortolanError("NOT_SUPPORTED", `The driver ${id} cannot be packed: ${why}.`, { hint });
  if (server.kind !== "npm")
    throw refused(
      `its server is ${SERVERS[server.kind]}, but a package needs a file with a hash`,
      `Only a driver whose server is an npm package can be packed. If the same server also exists as an npm package, write server: { kind: npm, package: <name>@<version> } and transport: stdio in ${basename(file)}. You can also pack an mcpfile or an npm package without a driver: portolan pack <mcpfile or npm package>`,
    );
  if (entry !== undefined)
    throw refused(
      `it has code of its own (${basename(entry)}), which would run outside of the sandbox`,
      `Replace the code with the fields mapping and result_extract in ${basename(file)}, or keep the driver in the workspace.`,
    );
  const problem = packagedDriverProblem(driver);
  if (problem !== undefined)
    throw refused(problem, `Change ${basename(file)}, or keep the driver in the workspace.`);
  if (!/.@v?\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/.test(server.package))
    throw new PortolanError(
      "FILE_INVALID",
      `The driver's server ${server.package} has no exact version, so it cannot be verified by a hash.`,
      {
        hint: `Write an exact version in ${basename(file)}, such as package: ${server.package.replace(/(.)@.*$/, "$1")}@1.2.3`,
      },
    );
  return { ...driver, server };
}

const SERVERS = {
  binary: "a program of this machine",
  docker: "a container image",
  remote: "behind a URL",
} as const;

/**
 * The texts of the driver and of the contracts that it serves. A contract that a binding names by its path keeps this path, which
 * then begins at the driver.
 */
async function filesOf(
  driver: Driver,
  contracts: ReadonlySet<Contract>,
  root: string,
): Promise<Record<string, string>> {
  const folder = dirname(driver.origin.file);
  const files: [string, string][] = [["DRIVER.md", await readText(driver.origin.file)]];
  for (const contract of contracts) {
    const file = resolve(root, contract.origin.file);
    const named = driver.implements
      .map(({ tool }) => tool)
      .find((tool) =>
        [root, folder].some((base) => [resolve(base, tool), resolve(base, tool, "TOOL.md")].includes(file)),
      );
    const path = named === undefined ? `tools/${majorKey(contract)}/TOOL.md` : toPath(named);
    if (!CONTRACT.test(path))
      throw new PortolanError(
        "NOT_SUPPORTED",
        `The driver ${driver.id} cannot be packed: it names the contract ${contract.id} by the path ${named ?? path}, which does not exist in a package.`,
        { hint: `Name the contract by its id in ${basename(driver.origin.file)}: tool: ${contract.id}.` },
      );
    files.push([path, await readText(file)]);
  }
  return Object.fromEntries(files.sort(([a], [b]) => (a < b ? -1 : 1)));
}

const CONTRACT = new RegExp(DRIVER_FILE);

function toPath(tool: string): string {
  const path = normalize(tool).split(sep).join("/").replace(/\/+$/, "");
  return /\.md$/i.test(path) ? path : `${path}/TOOL.md`;
}
