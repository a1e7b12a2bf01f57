// The drivers and contracts of a workspace: `.drivers/<id>/DRIVER.md` with what lies beside it, and every TOOL.md that they mean.

import { readdir, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { Diagnostic } from "../errors/index.ts";
import type {
  Contract,
  ContractPolicy,
  DeclaredDriver,
  DeclaredServer,
  SecretEntry,
} from "../model/index.ts";
import { driverFormats } from "./formats.ts";
import { readDeclarationFile } from "./read-file.ts";

/** The alias of all contracts together. */
export const CONTRACTS_ALIAS = "contracts";

/** What each file last said when it was right. */
export type DriverMemory = Map<string, unknown>;

export interface FoundDrivers {
  /** Undefined when there are no drivers. */
  readonly server?: DeclaredServer | undefined;
  readonly files: readonly { readonly file: string; readonly format: string; readonly valid: boolean }[];
  /** Where more may appear. */
  readonly folders: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
}

const ENTRIES = ["driver.ts", "driver.mts", "driver.js", "driver.mjs"];
const MAX_DRIVERS = 1_000;

/** `only` is a DRIVER.md that was named by itself. */
export async function findDrivers(
  top: string,
  policy: ContractPolicy,
  memory: DriverMemory,
  only?: string,
): Promise<FoundDrivers> {
  const files = only === undefined ? await below(join(top, ".drivers"), "DRIVER.md") : [only];
  const reader = new Reader(memory);
  const folders = [".drivers", ".tools", "tools", ".secrets"].map((name) => join(top, name));
  if (files.length === 0) return { files: [], folders, diagnostics: [] };
  const drivers = (await Promise.all(files.map((file) => readDriver(file, reader)))).flat();
  const contracts = await readContracts(top, drivers, reader);
  const secrets = await readSecrets(top, files, reader);
  const twice = duplicates(drivers);
  const kept = drivers.filter((one) => !twice.losers.has(one));
  const [first] = kept;
  const endpoint = { transport: "contracts", contracts, drivers: kept, secrets, policy, root: top } as const;
  return {
    server: first && {
      alias: CONTRACTS_ALIAS,
      origin: { ...first.driver.origin, line: 1, column: 1 },
      endpoint,
      enabled: true,
    },
    files: reader.files,
    folders: [...folders, ...(only === undefined ? [] : [dirname(only)])],
    diagnostics: [...reader.diagnostics, ...twice.diagnostics],
  };
}

class Reader {
  readonly files: { file: string; format: string; valid: boolean }[] = [];
  readonly diagnostics: Diagnostic[] = [];
  readonly #memory: DriverMemory;
  readonly #read = new Map<string, Promise<unknown>>();

  constructor(memory: DriverMemory) {
    this.#memory = memory;
  }

  /** What a file says, or last said when it was right; undefined when it is not there. Read once, however often it is meant. */
  parse<T>(
    file: string,
    format: string,
    parse: (text: string) => Promise<{ value: T | undefined; diagnostics: readonly Diagnostic[] }>,
  ): Promise<T | undefined> {
    let found = this.#read.get(file);
    if (found === undefined) this.#read.set(file, (found = this.#parse(file, format, parse)));
    return found as Promise<T | undefined>;
  }

  async #parse<T>(
    file: string,
    format: string,
    parse: (text: string) => Promise<{ value: T | undefined; diagnostics: readonly Diagnostic[] }>,
  ): Promise<T | undefined> {
    const read = await readDeclarationFile(file);
    if (read.kind === "missing") {
      this.#memory.delete(file);
      return undefined;
    }
    if (read.kind === "problem") {
      const message = `${file} cannot be read: ${read.message}`;
      this.diagnostics.push({ code: "FILE_FAILED", severity: "error", message, file });
      return this.#memory.get(file) as T | undefined;
    }
    const { value, diagnostics } = await parse(read.text);
    this.diagnostics.push(...diagnostics);
    this.files.push({ file, format, valid: value !== undefined });
    if (value !== undefined) this.#memory.set(file, value);
    return value ?? (this.#memory.get(file) as T | undefined);
  }
}

async function readDriver(file: string, reader: Reader): Promise<DeclaredDriver[]> {
  const folder = dirname(file);
  const { parseDriver } = await driverFormats();
  const server = await readDeclarationFile(join(folder, "server.json"));
  const serverJson =
    server.kind === "text" ? { text: server.text, file: join(folder, "server.json") } : undefined;
  const driver = await reader.parse(file, "driver", async (text) => {
    const { driver: value, diagnostics } = parseDriver(text, file, { serverJson });
    return { value, diagnostics };
  });
  if (driver === undefined) return [];
  const entries = await Promise.all(ENTRIES.map((name) => isFile(join(folder, name))));
  const entry = ENTRIES[entries.indexOf(true)];
  return [{ driver, ...(entry === undefined ? {} : { entry: join(folder, entry) }) }];
}

/** Those that bindings name by a path, from the workspace or from their driver; and all in the usual places, for those named by id. */
async function readContracts(
  top: string,
  drivers: readonly DeclaredDriver[],
  reader: Reader,
): Promise<Contract[]> {
  const { parseTool } = await driverFormats();
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
  // What lies outside of the workspace is nobody's contract here.
  const files = [...new Set([...named, ...found.flat()])].filter((file) => isBelow(file, top)).toSorted();
  const contracts = await Promise.all(
    files.map((file) =>
      reader.parse(file, "tool", async (text) => {
        const { contract: value, diagnostics } = parseTool(text, file);
        return { value, diagnostics };
      }),
    ),
  );
  return chooseContracts(
    top,
    contracts.filter((contract) => contract !== undefined),
    reader.diagnostics,
  );
}

/** The workspace's own contracts hold; a driver cannot bring another promise under the same name, nor two drivers one each. */
function chooseContracts(top: string, contracts: readonly Contract[], diagnostics: Diagnostic[]): Contract[] {
  const isOfDriver = ({ origin }: Contract): boolean => isBelow(origin.file, join(top, ".drivers"));
  const refuse = ({ id, origin }: Contract, other: Contract): void => {
    const { file, line, column } = origin;
    const message = `the contract ${id} is declared twice: ${file} is not used, because of ${other.origin.file}`;
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
    const other =
      kept.find((one) => !isOfDriver(one) && one.id === contract.id) ??
      brought.find(
        (one) => one !== contract && one.id === contract.id && folderOf(one, top) !== folderOf(contract, top),
      );
    if (other === undefined) kept.push(contract);
    else refuse(contract, other);
  }
  return kept;
}

const majorOf = ({ version }: Contract): string => version.split(".", 1)[0] ?? "";

/** Which driver's folder it is in. */
function folderOf({ origin }: Contract, top: string): string {
  return relative(join(top, ".drivers"), origin.file).split(sep, 1)[0] ?? "";
}

function isBelow(file: string, folder: string): boolean {
  const path = relative(folder, file);
  return path !== "" && path !== ".." && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}

async function readSecrets(top: string, drivers: readonly string[], reader: Reader): Promise<SecretEntry[]> {
  const { envOfSlug, mergeSecrets, parseSecrets } = await driverFormats();
  const read = async (files: readonly string[]): Promise<SecretEntry[][]> => {
    const lists = await Promise.all(
      [...new Set(files)].map((file) =>
        reader.parse(file, "secrets", async (text) => {
          const { secrets, diagnostics } = parseSecrets(text, file);
          const valid = !diagnostics.some(({ severity }) => severity === "error");
          return { value: valid ? secrets : undefined, diagnostics };
        }),
      ),
    );
    return lists.flatMap((list) => (list === undefined ? [] : [[...list]]));
  };
  const shared = join(top, ".secrets");
  const own = await read([join(shared, "SECRETS.md"), ...(await below(shared, "SECRETS.md"))]);
  const brought = await read(drivers.map((file) => join(dirname(file), "SECRETS.md")));
  const namesOf = ({ slug, envNames }: SecretEntry): string[] => [slug, envOfSlug(slug) ?? slug, ...envNames];
  // Who may have a secret that the workspace lists is for the workspace to say, whatever a driver calls it.
  const taken = new Set(own.flat().flatMap(namesOf));
  const allowed = brought.map((list) =>
    list.filter((entry) => {
      const name = namesOf(entry).find((one) => taken.has(one));
      if (name === undefined) return true;
      const { file, line, column } = entry.origin;
      const message = `the secret ${entry.slug} is not used: ${name} is in the workspace's own inventory`;
      const hint = "Grant it there, in .secrets/SECRETS.md, or give this one names of its own.";
      reader.diagnostics.push({
        code: "NAME_AMBIGUOUS",
        severity: "error",
        message,
        file,
        line,
        column,
        hint,
      });
      return false;
    }),
  );
  const merged = mergeSecrets([...own, ...allowed]);
  reader.diagnostics.push(...merged.diagnostics);
  return [...merged.secrets];
}

/** Of several with one id, that in the folder of this name; without one nobody knows which is meant. */
function duplicates(drivers: readonly DeclaredDriver[]): {
  readonly losers: ReadonlySet<DeclaredDriver>;
  readonly diagnostics: Diagnostic[];
} {
  const losers = new Set<DeclaredDriver>();
  const diagnostics: Diagnostic[] = [];
  for (const one of drivers) {
    const { id, origin } = one.driver;
    const others = drivers.filter((other) => other !== one && other.driver.id === id);
    if (others.length === 0 || basename(dirname(origin.file)) === id) continue;
    losers.add(one);
    diagnostics.push({
      code: "NAME_AMBIGUOUS",
      severity: "error",
      server: id,
      message: `driver ${id} is declared twice: ${origin.file} is not used, because of ${others[0]?.driver.origin.file ?? ""}`,
      file: origin.file,
      line: origin.line,
      column: origin.column,
      hint: `Give one of the two another id, or put the right one into .drivers/${id}.`,
    });
  }
  return { losers, diagnostics };
}

/** `<folder>/<anything>/<name>`, sorted. */
async function below(folder: string, name: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const folders = entries
    .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
    .slice(0, MAX_DRIVERS);
  const files = folders.map((entry) => join(folder, entry.name, name)).toSorted();
  const there = await Promise.all(files.map(isFile));
  return files.filter((_, index) => there[index]);
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
