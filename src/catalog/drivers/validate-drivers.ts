// Validates single drivers, contracts and secret files, named by their file or folder.

import { basename, dirname, join } from "node:path";
import type { Diagnostic } from "../../errors/index.ts";
import type { Contract, ContractsEndpoint, ConfiguredDriver } from "../../model/index.ts";
import { below, DriverReader, isFile } from "./driver-reader.ts";
import { isBelow, readSecretsFile } from "./driver-secrets.ts";
import { findDrivers, readContract, readDriver } from "./drivers.ts";
import { readConfigFile } from "../files/read-file.ts";
import { type CatalogFile, OWN_NAMES } from "../types.ts";

/** Drivers whose bindings can be compared with contracts. */
export interface DriversToBind {
  readonly drivers: readonly ConfiguredDriver[];
  readonly contracts: readonly Contract[];
  /** All drivers and secrets of the workspace around the files, and the ids of its drivers for other hosts. */
  readonly around: Pick<ContractsEndpoint, "drivers" | "secrets"> & { readonly foreign: readonly string[] };
  /** Files to report about. Without the list, all files. */
  readonly only?: readonly string[];
  readonly root: string;
  /** False if there is no workspace around the files, because contracts may be elsewhere. */
  readonly isWhole: boolean;
}

export interface CheckedDrivers {
  readonly files: readonly CatalogFile[];
  readonly diagnostics: readonly Diagnostic[];
  readonly bind: DriversToBind;
}

const NAMES = ["DRIVER.md", "TOOL.md", "SECRETS.md"];

export function isDriverFile(file: string): boolean {
  return NAMES.includes(basename(file));
}

/** Returns the contract and secret files of a workspace, also those that no driver needs. */
export async function sharedFiles(folder: string): Promise<string[]> {
  const secrets = join(folder, ".secrets");
  const found = await Promise.all([
    ...["tools", ".tools"].map((name) => below(join(folder, name), "TOOL.md")),
    below(secrets, "SECRETS.md"),
    present([join(secrets, "SECRETS.md")]),
  ]);
  return found.flat();
}

/** Returns the files of a folder that contains one or several drivers or contracts. */
export async function driverFilesIn(folder: string): Promise<string[]> {
  const own = await present(NAMES.map((name) => join(folder, name)));
  const inner = (await Promise.all(NAMES.map((name) => below(folder, name)))).flat();
  const homes = [folder, ...inner.filter((file) => basename(file) === "DRIVER.md").map(dirname)];
  const tools = await Promise.all(homes.map((home) => below(join(home, "tools"), "TOOL.md")));
  return [...new Set([...own, ...inner, ...tools.flat()])];
}

/** Checks each file alone, and in the context of the workspace around it. */
export async function checkDriverFiles(wanted: readonly string[]): Promise<CheckedDrivers> {
  const [first = "."] = wanted;
  const top = await workspaceAround(dirname(first));
  const around = top === undefined ? undefined : await findDrivers(top, {}, new Map());
  const endpoint = around?.server?.endpoint;
  const inUse = endpoint?.transport === "contracts" ? endpoint : undefined;
  const known = new Set(around?.files.map(({ file }) => file));
  const alone = await readAlone(wanted.filter((file) => !known.has(file)));
  const isWanted = ({ file }: { readonly file?: string }): boolean =>
    file !== undefined &&
    (wanted.includes(file) || (basename(file) === "server.json" && wanted.includes(driverBeside(file))));
  const files = [...(around?.files.filter(isWanted) ?? []), ...alone.files];
  const drivers = [
    ...(inUse?.drivers ?? []).filter(({ driver }) => isWanted(driver.origin)),
    ...alone.drivers,
  ];
  return {
    files: files.map((file) => ({ ...file, aliases: [] })),
    diagnostics: [...(around?.diagnostics.filter(isWanted) ?? []), ...alone.diagnostics],
    bind: {
      drivers,
      contracts: [...(inUse?.contracts ?? []), ...alone.contracts],
      around: {
        drivers: inUse?.drivers ?? alone.drivers,
        secrets: inUse?.secrets ?? [],
        foreign: foreignDrivers(around?.files ?? [], inUse?.drivers ?? []),
      },
      only: wanted,
      root: top ?? dirname(first),
      isWhole: top !== undefined,
    },
  };
}

/** Returns drivers for other hosts, by the names of their folders, which should be their ids. */
export function foreignDrivers(
  files: readonly { readonly file: string; readonly format: string }[],
  drivers: readonly ConfiguredDriver[],
): string[] {
  const own = new Set(drivers.map(({ driver }) => driver.origin.file));
  return files
    .filter(({ file, format }) => format === "driver" && !own.has(file))
    .map(({ file }) => basename(dirname(file)));
}

async function readAlone(files: readonly string[]): Promise<{
  readonly files: DriverReader["files"];
  readonly diagnostics: readonly Diagnostic[];
  readonly drivers: readonly ConfiguredDriver[];
  readonly contracts: readonly Contract[];
}> {
  const reader = new DriverReader(new Map(), readConfigFile);
  const drivers: ConfiguredDriver[] = [];
  const contracts: Contract[] = [];
  const notes: Diagnostic[] = [];
  for (const file of files) {
    const name = basename(file);
    if (name === "TOOL.md") contracts.push(...only(await readContract(file, reader)));
    else if (name === "SECRETS.md") await readSecretsFile(file, reader);
    else {
      const read = await readDriver(file, reader);
      drivers.push(...only(read?.declared));
      if (read?.ref !== undefined) notes.push(refUnchecked(file, read.ref));
      const own = await below(join(dirname(file), "tools"), "TOOL.md");
      // Only the requested files are reported. The other files are context.
      const silent = new DriverReader(new Map(), readConfigFile);
      for (const one of own)
        if (!files.includes(one)) contracts.push(...only(await readContract(one, silent)));
    }
  }
  return { files: reader.files, diagnostics: [...reader.diagnostics, ...notes], drivers, contracts };
}

function refUnchecked(
  file: string,
  { path, line, column }: { readonly path: string; readonly line: number; readonly column: number },
): Diagnostic {
  const message = `auth.ref ${path} was not checked: this file is not in a workspace`;
  return { code: "FILE_INVALID", severity: "info", message, file, line, column };
}

/** Returns the nearest folder with drivers or a portolan.yaml. */
async function workspaceAround(folder: string): Promise<string | undefined> {
  for (let at = folder; ; at = dirname(at)) {
    const inDrivers = basename(at) === ".drivers" || basename(dirname(at)) === ".drivers";
    if (!inDrivers && (await isWorkspace(at, folder))) return at;
    if (dirname(at) === at) return undefined;
  }
}

async function isWorkspace(at: string, from: string): Promise<boolean> {
  if (isBelow(from, join(at, ".drivers"))) return true;
  const own = OWN_NAMES.map((name) => join(at, name));
  return (await present(own)).length > 0 || (await below(join(at, ".drivers"), "DRIVER.md")).length > 0;
}

function driverBeside(file: string): string {
  return join(dirname(file), "DRIVER.md");
}

async function present(files: readonly string[]): Promise<string[]> {
  const there = await Promise.all(files.map(isFile));
  return files.filter((_, index) => there[index]);
}

function only<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}
