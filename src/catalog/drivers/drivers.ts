// Drivers and contracts of a workspace: each `.drivers/<id>/DRIVER.md` with the files beside it, and the TOOL.md files that it references.

import { createHash } from "node:crypto";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Diagnostic } from "../../errors/index.ts";
import type { Contract, ContractPolicy, ConfiguredDriver, ServerConfig } from "../../model/index.ts";
import { below, type DriverMemory, DriverReader, isFile } from "./driver-reader.ts";
import { isBelow, readSecrets, type SecretsRef } from "./driver-secrets.ts";
import { withSkills } from "./driver-skills.ts";
import { driverFormats } from "../formats.ts";
import { readConfigFile } from "../files/read-file.ts";
import type { ReadConfigFile } from "../files/accepted-files.ts";
import type { PackagedDriver } from "../types.ts";
import { type PlacedDrivers, placePackaged } from "./packaged-drivers.ts";

/** Alias of the server that offers all contracts. */
export const CONTRACTS_ALIAS = "contracts";

export interface FoundDrivers {
  /** Undefined if the workspace has no drivers. */
  readonly server?: ServerConfig;
  readonly files: readonly { readonly file: string; readonly format: string; readonly valid: boolean }[];
  /** Other files beside drivers that are read or run with them, existing or not. */
  readonly beside: readonly string[];
  /** Files that are referenced but do not exist yet. */
  readonly missing: readonly string[];
  /** Folders in which more files may appear. */
  readonly folders: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
}

const ENTRIES = ["driver.ts", "driver.mts", "driver.js", "driver.mjs"];

export interface FindDriversOptions {
  /** A DRIVER.md that the user named instead of a workspace. */
  readonly only?: string;
  readonly read?: ReadConfigFile;
  readonly packaged?: readonly PackagedDriver[];
}

export async function findDrivers(
  top: string,
  policy: ContractPolicy,
  memory: DriverMemory,
  { only, read = readConfigFile, packaged = [] }: FindDriversOptions = {},
): Promise<FoundDrivers> {
  const own = only === undefined ? await below(join(top, ".drivers"), "DRIVER.md") : [only];
  const brought = placePackaged(top, packaged);
  const files = [...own, ...brought.servers.keys()];
  const reader = new DriverReader(memory, (file) => brought.read(file) ?? read(file));
  const folders = [".drivers", ".tools", "tools", ".secrets"].map((name) => join(top, name));
  const alone = only === undefined ? await codeAlone(join(top, ".drivers"), own) : [];
  if (files.length === 0) return { files: [], beside: [], missing: [], folders, diagnostics: alone };
  const found = await Promise.all(files.map((file) => readDriver(file, reader)));
  const declared = found.flatMap((one) => one?.declared ?? []).map((one) => brought.complete(one));
  const drivers = await Promise.all(declared.map((one) => withSkills(one, top, reader)));
  const contracts = await readContracts(top, drivers, reader, brought);
  const refs = found.flatMap((one) => one?.ref ?? []);
  const twice = duplicates(drivers);
  const kept = drivers.filter((one) => !twice.losers.has(one));
  const ids = new Map(kept.map(({ driver }) => [driver.origin.file, driver.id]));
  const secrets = await readSecrets(
    top,
    files.map((file) => ({ file, id: ids.get(file) })),
    refs,
    reader,
  );
  const [first] = kept;
  const endpoint = { transport: "contracts", contracts, drivers: kept, secrets, policy, root: top } as const;
  return {
    server: first && {
      alias: CONTRACTS_ALIAS,
      origin: { ...first.driver.origin, line: 1, column: 1 },
      endpoint,
      enabled: true,
    },
    // Files are read at the same time. Another order would look like a change to the watch of the files.
    files: reader.files.filter(({ file }) => brought.read(file) === undefined).toSorted(byFile),
    beside: own.flatMap((file) => ["server.json", ...ENTRIES].map((name) => join(dirname(file), name))),
    missing: reader.missing.filter((file) => brought.read(file) === undefined).toSorted(),
    folders: [...folders, ...(only === undefined ? [] : [dirname(only)])],
    diagnostics: [
      ...reader.diagnostics.toSorted(byFile),
      ...alone,
      ...twice.diagnostics,
      ...kept.flatMap((one) => unagreed(one, policy)),
    ],
  };
}

/** Code of drivers without a DRIVER.md, which is in no driver. */
async function codeAlone(folder: string, drivers: readonly string[]): Promise<Diagnostic[]> {
  const folders = new Set(drivers.map((file) => dirname(file)));
  const found = await below(folder, ...ENTRIES);
  return found
    .filter((file) => !folders.has(dirname(file)))
    .map((file) => ({
      code: "FILE_INVALID",
      severity: "warning",
      file,
      message: `Portolan does not use ${basename(file)}, because there is no DRIVER.md beside it`,
      hint: "Write a DRIVER.md into this folder: portolan author <server> writes one. A program can also add a driver with contracts.register().",
    }));
}

function byFile(
  { file: one = "" }: { readonly file?: string },
  { file: other = "" }: { readonly file?: string },
): number {
  return one < other ? -1 : Number(one > other);
}

export interface ReadDriver {
  readonly declared: ConfiguredDriver;
  readonly ref?: SecretsRef;
}

/** Reads a driver with the files beside it. Resolves to undefined for a driver with errors or of another kind. */
export async function readDriver(file: string, reader: DriverReader): Promise<ReadDriver | undefined> {
  const folder = dirname(file);
  const { parseDriver } = await driverFormats();
  const server = await reader.read(join(folder, "server.json"));
  const serverJson =
    server.kind === "text" ? { text: server.text, file: join(folder, "server.json") } : undefined;
  const read = await reader.parse(file, "driver", async (text) => {
    const { driver, secretsRef, diagnostics } = parseDriver(text, file, { serverJson });
    const value = driver && { driver, text, ref: secretsRef && { ...secretsRef, file } };
    return { value, diagnostics };
  });
  if (read === undefined) return undefined;
  const { driver, text, ref } = read;
  reader.diagnostics.push(...(await checkVendored(text, file)));
  const entries = await Promise.all(
    ENTRIES.map(async (name) => {
      const path = join(folder, name);
      const code = (await isFile(path)) ? await reader.read(path) : undefined;
      if (code === undefined || code.kind === "missing") return [];
      return [{ entry: path, entryHash: code.kind === "text" ? hashOf(code.text) : undefined }];
    }),
  );
  const [code] = entries.flat();
  if (code === undefined) return { declared: { driver }, ref };
  return { declared: { driver, ...code, source: { text, serverJson } }, ref };
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Reads the contracts that bindings name by a path, and all contracts in the usual folders for bindings that name an id. */
async function readContracts(
  top: string,
  drivers: readonly ConfiguredDriver[],
  reader: DriverReader,
  brought: PlacedDrivers,
): Promise<Contract[]> {
  const usual = [join(top, ".tools"), join(top, "tools")];
  const own = drivers.map(({ driver }) => join(dirname(driver.origin.file), "tools"));
  const found = await Promise.all([...usual, ...own].map((folder) => below(folder, "TOOL.md")));
  const named = drivers.flatMap(({ driver }) =>
    driver.implements.flatMap(({ tool }) =>
      [top, dirname(driver.origin.file)].flatMap((base) => {
        const path = resolve(base, tool);
        return /\.md$/i.test(tool) ? [path] : /[\\/]/.test(tool) ? [join(path, "TOOL.md")] : [];
      }),
    ),
  );
  // Contracts outside of the workspace are not used.
  const files = [...new Set([...named, ...found.flat(), ...brought.contracts])]
    .filter((file) => isBelow(file, top))
    .toSorted();
  const contracts = await Promise.all(files.map((file) => readContract(file, reader)));
  return chooseContracts(
    top,
    contracts.filter((contract) => contract !== undefined),
    reader.diagnostics,
    brought,
  );
}

export async function readContract(file: string, reader: DriverReader): Promise<Contract | undefined> {
  const { checkExamples, parseTool } = await driverFormats();
  return reader.parse(file, "tool", async (text) => {
    const { contract: value, diagnostics } = parseTool(text, file);
    const examples = value === undefined ? [] : await checkExamples(value, text);
    return { value, diagnostics: [...diagnostics, ...examples] };
  });
}

/**
 * A contract of the workspace takes precedence over one of a driver. If two drivers bring different contracts of one name,
 * neither is used.
 */
function chooseContracts(
  top: string,
  contracts: readonly Contract[],
  diagnostics: Diagnostic[],
  packaged: PlacedDrivers,
): Contract[] {
  const isOfDriver = ({ origin }: Contract): boolean =>
    isBelow(origin.file, join(top, ".drivers")) || packaged.read(origin.file) !== undefined;
  const isPackaged = ({ origin }: Contract): boolean => packaged.read(origin.file) !== undefined;
  const isSame = (one: Contract, other: Contract): boolean =>
    (isPackaged(one) || isPackaged(other)) &&
    isDeepStrictEqual({ ...one, origin: undefined }, { ...other, origin: undefined });
  const refuse = ({ id, origin }: Contract, other: Contract): void => {
    const { file, line, column } = origin;
    const outcome = isOfDriver(other)
      ? `Portolan uses neither ${other.origin.file} nor ${file}`
      : `Portolan uses ${other.origin.file} and ignores ${file}`;
    const message = `the contract ${id} is declared twice: ${outcome}`;
    const hint = "Give one of the two another id, or remove one.";
    diagnostics.push({ code: "NAME_AMBIGUOUS", severity: "error", message, file, line, column, hint });
  };
  const kept: Contract[] = [];
  for (const contract of contracts.filter((one) => !isOfDriver(one))) {
    const other = kept.find((one) => one.id === contract.id && majorOf(one) === majorOf(contract));
    if (other === undefined) kept.push(contract);
    else refuse(contract, other);
  }
  const brought = contracts.filter(isOfDriver);
  for (const contract of brought) {
    // Packages of several drivers bring the same contract, which all of them serve.
    if (kept.some((one) => isSame(one, contract))) continue;
    const other =
      kept.find((one) => !isOfDriver(one) && one.id === contract.id) ??
      brought.find(
        (one) =>
          one !== contract &&
          one.id === contract.id &&
          folderOf(one, top) !== folderOf(contract, top) &&
          !isSame(one, contract),
      );
    if (other === undefined) kept.push(contract);
    else refuse(contract, other);
  }
  return kept;
}

const majorOf = ({ version }: Contract): string => version.split(".", 1)[0] ?? "";

/** The folder of the driver that brings a contract: of `.drivers`, or of a package. */
function folderOf({ origin }: Contract, top: string): string {
  const path = relative(join(top, ".drivers"), origin.file);
  return path.startsWith("..") ? dirname(dirname(dirname(path))) : (path.split(sep, 1)[0] ?? "");
}

/** A DRIVER.md may request a weaker sandbox mode, which only the workspace can grant. */
function unagreed(
  { driver: { id, launch, origin } }: ConfiguredDriver,
  policy: ContractPolicy,
): Diagnostic[] {
  const { askedMode } = launch;
  if (askedMode === undefined || Object.hasOwn(policy.sandbox ?? {}, id)) return [];
  return [
    {
      code: "FILE_INVALID",
      severity: "info",
      server: id,
      message: `driver ${id} requests the sandbox mode ${askedMode}, which has no effect until the workspace sets it`,
      file: origin.file,
      line: origin.line,
      column: origin.column,
      hint: `To allow this mode, add contracts: { sandbox: { ${id}: ${askedMode} } } to portolan.yaml. Until then, the driver starts only if its sandbox is enforced.`,
    },
  ];
}

/** Of several drivers with one id, the one in the folder of that name is used. Without such a folder, none is. */
function duplicates(drivers: readonly ConfiguredDriver[]): {
  readonly losers: ReadonlySet<ConfiguredDriver>;
  readonly diagnostics: Diagnostic[];
} {
  const losers = new Set<ConfiguredDriver>();
  const diagnostics: Diagnostic[] = [];
  for (const one of drivers) {
    const { id, origin } = one.driver;
    const others = drivers.filter((other) => other !== one && other.driver.id === id);
    if (others.length === 0 || isInOwnFolder(one)) continue;
    losers.add(one);
    const used = others.find(isInOwnFolder);
    const outcome =
      used === undefined
        ? `Portolan uses neither ${others[0]?.driver.origin.file ?? ""} nor ${origin.file}`
        : `Portolan uses ${used.driver.origin.file} and ignores ${origin.file}`;
    diagnostics.push({
      code: "NAME_AMBIGUOUS",
      severity: "error",
      server: id,
      message: `driver ${id} is declared twice: ${outcome}`,
      file: origin.file,
      line: origin.line,
      column: origin.column,
      hint: `Remove one of the two drivers, or give one of them another id. A driver in a folder named ${id} takes precedence.`,
    });
  }
  return { losers, diagnostics };
}

function isInOwnFolder({ driver: { id, origin } }: ConfiguredDriver): boolean {
  return basename(dirname(origin.file)) === id;
}

/** Reports vendored programs of a driver that do not exist. This is checked at each load, because programs come and go without a change of the file. */
async function checkVendored(text: string, file: string): Promise<readonly Diagnostic[]> {
  const { vendoredPrograms } = await driverFormats();
  const found = vendoredPrograms(text, file).map(async ({ path, line, column }): Promise<Diagnostic[]> => {
    if (await isFile(path)) return [];
    const message = `the vendored program ${path} does not exist`;
    const hint = "Add the program; its path is relative to this file.";
    return [{ code: "FILE_INVALID", severity: "warning", message, hint, file, line, column }];
  });
  return (await Promise.all(found)).flat();
}
