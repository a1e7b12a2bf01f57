// The existing parts of a workspace: secrets and their names, contracts, the driver itself, and errors of the whole workspace.

import { readdir, readFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { checkDriver, checkWorkspace } from "../../contracts/index.ts";
import type { Diagnostic } from "../../errors/index.ts";
import { envOfSlug, parseDriver, parseSecrets, parseTool, slugOfEnv } from "../../formats/driver/index.ts";
import type { Contract, Driver, SecretEntry } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { computerOf } from "../workspace/folder.ts";
import { driverFolder } from "./identify.ts";
import { freeId } from "./names.ts";

export interface KnownSecrets {
  /** Entries of the workspace itself (`.secrets`). */
  readonly own: readonly SecretEntry[];
  /** Entries of other drivers. */
  readonly others: readonly SecretEntry[];
}

/** Without the entries of the driver `id`, which are written again. `listed` are entries that the catalog found. */
export async function existingSecrets(
  folder: string,
  id: string,
  listed: readonly SecretEntry[],
): Promise<KnownSecrets> {
  const shared = join(folder, ".secrets");
  const places = [shared, ...(await folders(shared)), ...(await folders(join(folder, ".drivers")))];
  const read = await Promise.all(
    places.map(async (place) => {
      const file = join(place, "SECRETS.md");
      const text = await textOf(file);
      return text === undefined ? [] : parseSecrets(text, file).secrets;
    }),
  );
  const isIn = ({ origin }: SecretEntry, parent: string): boolean =>
    !relative(parent, origin.file).startsWith(`..${sep}`);
  const all = [...read.flat(), ...listed].filter((entry) => !isIn(entry, driverFolder(folder, id)));
  return {
    own: all.filter((entry) => isIn(entry, shared)),
    others: all.filter((entry) => !isIn(entry, shared)),
  };
}

export interface NamedSecret {
  /** The variable in the driver's secret references. */
  readonly name: string;
  /** The variable, header or option of the server. */
  readonly as: string;
  /** The entry of the workspace that is used, if it is granted to these contracts. */
  readonly entry?: SecretEntry;
  /** The entry that already has the wanted name. */
  readonly taken?: SecretEntry;
}

/**
 * Names for the secrets of a driver. An entry of the workspace is used if it is granted to all contracts. An entry of another driver
 * is never used: under a name such as API_KEY each server means its own secret, and must not get the other's.
 */
export class SecretNames {
  readonly #known: KnownSecrets;
  readonly #driver: string;
  readonly #contracts: readonly string[];
  readonly #used = new Set<string>();

  constructor(known: KnownSecrets, driver: string, contracts: readonly string[]) {
    this.#known = known;
    this.#driver = driver;
    this.#contracts = contracts;
  }

  take(wanted: string, as: string): NamedSecret {
    const plain = variableOf(wanted);
    const { own, others } = this.#known;
    const taken = [...own, ...others].find((entry) => namesOf(entry).has(plain));
    const granted = own.find((entry) => namesOf(entry).has(plain) && this.#isGranted(entry));
    if (granted !== undefined) return { name: plain, as, entry: granted };
    const first = taken === undefined ? plain : variableOf(`${this.#driver}_${wanted}`);
    const slug = freeId(slugOfEnv(first), (candidate) => this.#isFree(candidate));
    const name = envOfSlug(slug) ?? first;
    this.#used.add(name);
    return { name, as, taken };
  }

  #isFree(slug: string): boolean {
    const name = envOfSlug(slug) ?? "";
    const { own, others } = this.#known;
    return !this.#used.has(name) && ![...own, ...others].some((entry) => namesOf(entry).has(name));
  }

  #isGranted({ access }: SecretEntry): boolean {
    return this.#contracts.every((id) => access.bind.some((grant) => "tool" in grant && grant.tool === id));
  }
}

/** The variables of an entry. */
function namesOf({ slug, envNames }: SecretEntry): ReadonlySet<string> {
  return new Set([envOfSlug(slug) ?? slug, ...envNames]);
}

/** Converts any name to the form of a secret's name. */
function variableOf(text: string): string {
  const name = text
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, "_")
    .replace(/^_+|_+$/g, "");
  return /^[A-Z]./.test(name) ? name : `MCP_${name || "VALUE"}`;
}

/** The contracts without errors; `portolan validate` reports the others. `driver` may refer to contracts in other folders. */
export async function existingContracts(
  folder: string,
  driver: Driver | undefined,
): Promise<readonly Contract[]> {
  const drivers = await folders(join(folder, ".drivers"));
  const places = [join(folder, "tools"), join(folder, ".tools"), ...drivers.map((one) => join(one, "tools"))];
  const usual = (await Promise.all(places.map(folders))).flat().map((tool) => join(tool, "TOOL.md"));
  const named = driver?.implements.flatMap(({ tool }) => filesOf(tool, driver, folder)) ?? [];
  const contracts = await Promise.all(
    [...new Set([...usual, ...named])].map(async (file) => {
      const text = await textOf(file);
      return text === undefined ? undefined : parseTool(text, file).contract;
    }),
  );
  return contracts.filter((contract) => contract !== undefined);
}

/** The existing driver of this id; undefined if there is none, or if it cannot be read. */
export async function existingDriver(folder: string, id: string): Promise<Driver | undefined> {
  const home = driverFolder(folder, id);
  const [file, server] = [join(home, "DRIVER.md"), join(home, "server.json")];
  const [text, serverText] = await Promise.all([file, server].map(textOf));
  if (text === undefined) return undefined;
  const serverJson = serverText === undefined ? undefined : { text: serverText, file: server };
  const { driver } = parseDriver(text, file, { serverJson });
  return driver?.id === id ? driver : undefined;
}

/** Possible files of the contract of a binding. */
function filesOf(tool: string, { origin }: Driver, folder: string): string[] {
  if (!/[\\/]|\.md$/i.test(tool)) return [];
  return [folder, dirname(origin.file)].map((base) =>
    /\.md$/i.test(tool) ? resolve(base, tool) : resolve(base, tool, "TOOL.md"),
  );
}

async function textOf(file: string): Promise<string | undefined> {
  return readFile(file, "utf8").catch(() => undefined);
}

async function folders(parent: string): Promise<string[]> {
  const entries = await readdir(parent, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
    .map(({ name }) => join(parent, name))
    .toSorted();
}

/** All files of a workspace together, as `portolan validate` checks them: a driver may conflict with another one. */
interface WholeWorkspace {
  readonly errors: readonly Diagnostic[];
  /** Secret entries of all drivers, and of the files that they refer to. */
  readonly secrets: readonly SecretEntry[];
  /** The kinds of references that its drivers have. */
  readonly refKinds: ReadonlySet<string>;
}

export async function wholeWorkspace(folder: string, { io }: Pick<Cli, "io">): Promise<WholeWorkspace> {
  const { home } = computerOf(io, folder);
  const { servers, diagnostics } = await io.loadCatalog(folder, { home });
  const endpoint = servers
    .map((server) => server.endpoint)
    .find(({ transport }) => transport === "contracts");
  const found =
    endpoint?.transport === "contracts"
      ? endpoint
      : { contracts: [], drivers: [], secrets: [], root: folder };
  const { contracts, drivers, secrets, root } = found;
  const unbound = drivers.flatMap(
    ({ driver }) => checkDriver(driver, contracts, undefined, { root }).diagnostics,
  );
  const all = drivers.map(({ driver }) => driver);
  // Drivers for other hosts are unknown here, so a preference for one is not checked.
  const foreign = contracts.flatMap(({ defaultImplementation }) => defaultImplementation ?? []);
  const names = checkWorkspace({ drivers: all, contracts, secrets, root, foreign });
  const errors = [...diagnostics, ...unbound, ...names].filter(({ severity }) => severity === "error");
  const kinds = all.flatMap(({ resources }) =>
    resources.flatMap((one) => (one.integrateAs === "ref_kind" ? [one.refKindId] : [])),
  );
  return { errors, secrets, refKinds: new Set(kinds) };
}

/** The errors that were not there before. */
export function newErrors(before: WholeWorkspace, after: WholeWorkspace): readonly Diagnostic[] {
  const known = new Set(before.errors.map(({ file, message }) => `${file}\n${message}`));
  return after.errors.filter(({ file, message }) => !known.has(`${file}\n${message}`));
}
