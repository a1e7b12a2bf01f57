// Registrations of a workspace: its drivers and contracts as they were last verified, in the user's data folder. They show a
// breaking change without a new major version.

import { createHash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { withFileLock } from "../../base/files/file-lock.ts";
import { writeAtomic } from "../../base/files/atomic-write.ts";
import { checkBump, type RefusedContract } from "../../contracts/index.ts";
import type { Report } from "../../errors/index.ts";
import { type Contract, type Driver, isObject } from "../../model/index.ts";

const MAX_BYTES = 16 * 1024 * 1024;

interface Kind<T> {
  /** The field of the file. */
  readonly name: string;
  readonly suffix: string;
  readonly keyOf: (thing: T) => string;
  /** Checks the fields that a comparison reads. */
  readonly isValid: (value: unknown) => value is T;
}

const DRIVERS: Kind<Driver> = {
  name: "drivers",
  suffix: ".json",
  keyOf: ({ id }) => id,
  isValid: isDriver,
};

const CONTRACTS: Kind<Contract> = {
  name: "contracts",
  suffix: ".contracts.json",
  keyOf: ({ id, version }) => `${id}@${version.split(".", 1)[0] ?? ""}`,
  isValid: isContract,
};

/** The registered drivers by id. */
export async function registeredDrivers(root: string): Promise<ReadonlyMap<string, Driver>> {
  return registered(DRIVERS, root);
}

export async function rememberDrivers(root: string, drivers: readonly Driver[]): Promise<void> {
  await store(DRIVERS, root, drivers);
}

function isDriver(value: unknown): value is Driver {
  return (
    isObject(value) &&
    typeof value.id === "string" &&
    typeof value.version === "string" &&
    isObject(value.server) &&
    isObject(value.launch) &&
    ["implements", "prompts", "resources", "region", "policyTags"].every((name) =>
      Array.isArray(value[name]),
    ) &&
    (value.implements as unknown[]).every(
      (one) =>
        isObject(one) &&
        typeof one.tool === "string" &&
        Array.isArray(one.dropInputs) &&
        Array.isArray(one.dropOutputs),
    )
  );
}

/** The registered contract that this one replaces. */
export async function registeredContract(root: string, contract: Contract): Promise<Contract | undefined> {
  return (await registered(CONTRACTS, root)).get(CONTRACTS.keyOf(contract));
}

/** Separates the contracts with a breaking change and no new major version: they are refused until somebody accepts them. */
export async function separateBroken(
  root: string,
  contracts: readonly Contract[],
  report: Report,
): Promise<{ readonly contracts: readonly Contract[]; readonly refused: readonly RefusedContract[] }> {
  const known = await registered(CONTRACTS, root);
  const refused = contracts.flatMap((contract): RefusedContract[] => {
    const before = known.get(CONTRACTS.keyOf(contract));
    const problems = (before === undefined ? [] : checkBump(before, contract)).map((problem) => ({
      ...problem,
      hint: `${problem.hint ?? ""} If no caller relies on the old contract, accept the change: portolan drivers accept ${contract.id}`,
    }));
    for (const problem of problems) report(problem);
    const diagnostic = problems.find(({ severity }) => severity === "error");
    return diagnostic === undefined ? [] : [{ contract, diagnostic }];
  });
  const broken = new Set(refused.map(({ contract }) => contract));
  return { contracts: contracts.filter((contract) => !broken.has(contract)), refused };
}

export async function rememberContracts(root: string, contracts: readonly Contract[]): Promise<void> {
  await store(CONTRACTS, root, contracts);
}

function isContract(value: unknown): value is Contract {
  return (
    isObject(value) &&
    typeof value.id === "string" &&
    typeof value.version === "string" &&
    isObject(value.inputs) &&
    isObject(value.outputs) &&
    isObject(value.origin) &&
    Array.isArray(value.mutates)
  );
}

/** A file that cannot be read counts as empty: then one breaking change is not noticed. */
async function registered<T>(kind: Kind<T>, root: string): Promise<Map<string, T>> {
  return read(kind, await fileOf(kind, root));
}

/** Replaces the entries with the same keys. */
async function store<T>(kind: Kind<T>, root: string, things: readonly T[]): Promise<void> {
  const file = await fileOf(kind, root);
  const known = await read(kind, file);
  const changed = things.filter(
    (thing) => JSON.stringify(known.get(kind.keyOf(thing))) !== JSON.stringify(thing),
  );
  if (changed.length === 0) return;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await withFileLock(file, async () => {
    const all = new Map([
      ...(await read(kind, file)),
      ...changed.map((thing) => [kind.keyOf(thing), thing] as const),
    ]);
    const whole = { version: 1, root, [kind.name]: Object.fromEntries(all) };
    const bytes = Buffer.from(`${JSON.stringify(whole)}\n`);
    if (bytes.length <= MAX_BYTES) await writeAtomic(file, bytes, { mode: 0o600 });
  });
}

async function fileOf({ suffix }: Pick<Kind<unknown>, "suffix">, root: string): Promise<string> {
  const { default: envPaths } = await import("env-paths");
  const name = createHash("sha256").update(root).digest("hex").slice(0, 32);
  return join(envPaths("portolan", { suffix: "" }).data, "drivers", `${name}${suffix}`);
}

async function read<T>({ name, isValid }: Kind<T>, file: string): Promise<Map<string, T>> {
  try {
    const value: unknown = JSON.parse(await readFile(file, "utf8"));
    const things: unknown = isObject(value) && value.version === 1 ? value[name] : undefined;
    const entries = Object.entries(isObject(things) ? things : {});
    return new Map(entries.flatMap(([key, thing]) => (isValid(thing) ? [[key, thing] as const] : [])));
  } catch {
    return new Map();
  }
}
