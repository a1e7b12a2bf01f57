// Cross-checks of the drivers, contracts and secrets of a workspace, from their files alone.

import { type Diagnostic, didYouMean } from "../../errors/index.ts";
import { slugOfEnv } from "../../formats/driver/index.ts";
import type { Contract, Driver, DriverOrigin, SecretEntry } from "../../model/index.ts";
import { checkDriver } from "./check-driver.ts";
import { checkAccess, SecretGrants } from "../auth/secret-grants.ts";
import { refKindConflicts } from "./driver-conflicts.ts";

export interface WorkspaceParts {
  readonly drivers: readonly Driver[];
  readonly contracts: readonly Contract[];
  /** All entries of its inventories. */
  readonly secrets: readonly SecretEntry[];
  readonly root: string;
  /** Ids of drivers for other hosts. */
  readonly foreign: readonly string[];
}

export function checkWorkspace(parts: WorkspaceParts): readonly Diagnostic[] {
  const { drivers, contracts } = parts;
  return [
    ...drivers.flatMap((driver, index) => [
      ...refKindConflicts(driver, drivers.slice(0, index)),
      ...checkSecrets(driver, parts),
    ]),
    ...contracts.flatMap((contract) => [
      ...checkPreference(contract, parts),
      ...checkRequiredTools(contract, contracts),
      ...checkRequiredSecrets(contract, parts.secrets),
    ]),
  ];
}

/** A server is never started with a secret that no inventory lists for it. */
function checkSecrets(driver: Driver, { secrets }: WorkspaceParts): Diagnostic[] {
  const grants = new SecretGrants(secrets, async () => undefined);
  return grants.namesOf(driver).flatMap((name) => {
    if (grants.find(name, driver) !== undefined) return [];
    const other = grants.otherOwner(name, driver);
    // A second entry of the same name would make both invalid.
    const hint =
      other === undefined
        ? `Add an entry with slug: ${slugOfEnv(name)} to the SECRETS.md beside the driver, with access.bind for its contracts. If such an entry exists, correct the error that is reported about it or its file.`
        : `Move the entry from the SECRETS.md of the driver ${other} to .secrets/SECRETS.md, and grant it to each contract of ${driver.id} too.`;
    return [
      toDiagnostic(
        driver.origin,
        `secret:${name}`,
        `${driver.id}: ${grants.noEntry(name, driver)}`,
        hint,
        driver.id,
      ),
    ];
  });
}

function checkPreference(
  contract: Contract,
  { drivers, contracts, root, foreign }: WorkspaceParts,
): Diagnostic[] {
  const { id, defaultImplementation: wanted, origin } = contract;
  if (wanted === undefined || foreign.includes(wanted)) return [];
  const driver = drivers.find((one) => one.id === wanted);
  if (driver === undefined) {
    const known = drivers.map((one) => one.id);
    const hint =
      didYouMean(wanted, known) ??
      "In default_implementation, write the id of a driver of this workspace that has no errors, or remove the key.";
    const message = `${id}: the driver ${wanted} does not exist or has errors`;
    return [toDiagnostic(origin, "default_implementation", message, hint)];
  }
  const { bound, diagnostics } = checkDriver(driver, contracts, undefined, { root });
  // A driver with a broken binding is reported by itself.
  if (diagnostics.some(({ severity }) => severity === "error")) return [];
  if (bound.some((one) => one.contract.id === id)) return [];
  const hint = `Add ${id} to implements of ${wanted}, or name a driver that serves ${id}.`;
  return [
    toDiagnostic(
      origin,
      "default_implementation",
      `${id}: the driver ${wanted} does not serve this contract`,
      hint,
    ),
  ];
}

function checkRequiredTools(
  { id, requires, origin }: Contract,
  contracts: readonly Contract[],
): Diagnostic[] {
  const known = contracts.map((one) => one.id);
  return requires.tools.flatMap((tool) => {
    if (known.includes(tool)) return [];
    const hint =
      didYouMean(tool, known) ??
      `If a TOOL.md with the id ${tool} exists, correct its errors. Otherwise write one, for example tools/${tool}/TOOL.md, or remove ${tool} from requires.tools.`;
    return [
      toDiagnostic(
        origin,
        `requires.tools:${tool}`,
        `${id} requires the contract ${tool}, which does not exist or has errors`,
        hint,
      ),
    ];
  });
}

function checkRequiredSecrets(
  { id, requires, origin }: Contract,
  secrets: readonly SecretEntry[],
): Diagnostic[] {
  // Any inventory counts: which driver serves a call is decided later, and each has its own.
  const all = new SecretGrants(
    secrets.map((entry) => ({ ...entry, driver: undefined })),
    async () => undefined,
  );
  return requires.secrets.flatMap((slug) => {
    const place = `requires.secrets:${slug}`;
    const entry = all.find(slug);
    if (entry === undefined) {
      const hint =
        "Add an entry for the secret to the SECRETS.md of the workspace or of a driver. If such an entry exists, correct the error that is reported about it or its file.";
      const message = `${id} requires the secret ${slug}, but no SECRETS.md has a valid entry for it`;
      return [toDiagnostic(origin, place, message, hint)];
    }
    // Grants to users, roles and capabilities are decided with each call.
    const isOpen = entry.access.bind.some((grant) => !("tool" in grant));
    if (isOpen || checkAccess(entry, "bind", { tool: id }).granted) return [];
    const message = `${id} requires the secret ${slug}, which is not granted to this contract`;
    return [
      toDiagnostic(
        origin,
        place,
        message,
        `Grant it in ${entry.origin.file}: access: { bind: [{ tool: ${id} }] }.`,
      ),
    ];
  });
}

function toDiagnostic(
  origin: DriverOrigin,
  place: string,
  message: string,
  hint: string,
  server?: string,
): Diagnostic {
  const { file, line, column, places } = origin;
  return {
    code: "FILE_INVALID",
    severity: "error",
    server,
    message,
    hint,
    file,
    ...(places?.[place] ?? { line, column }),
  };
}
