// Secret entries of a workspace: its own SECRETS.md first, then those that drivers bring or reference.

import { realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { Diagnostic } from "../../errors/index.ts";
import type { SecretEntry } from "../../model/index.ts";
import { below, type DriverReader, isFile } from "./driver-reader.ts";
import { driverFormats } from "../formats.ts";

/** A file that a driver references, such as a SECRETS.md with `auth.ref`. */
export interface SecretsRef {
  /** The DRIVER.md with the reference. */
  readonly file: string;
  readonly path: string;
  readonly line: number;
  readonly column: number;
}

/** A DRIVER.md and the id of its driver. The id is undefined if the file has errors or is not in use. */
export interface DriverFile {
  readonly file: string;
  readonly id: string | undefined;
}

/** The entries of one SECRETS.md. `driver` is undefined for the workspace's own. */
interface Inventory {
  readonly driver?: string;
  readonly entries: readonly SecretEntry[];
}

/**
 * The workspace's own entries (`.secrets`) serve every driver that their access rules name. Entries that a driver brings or references
 * serve that driver only. Otherwise a new driver could request the secrets of other drivers by their names.
 */
export async function readSecrets(
  top: string,
  drivers: readonly DriverFile[],
  refs: readonly SecretsRef[],
  reader: DriverReader,
): Promise<SecretEntry[]> {
  const { mergeSecrets } = await driverFormats();
  const shared = join(top, ".secrets");
  const sharedFiles = [...new Set([join(shared, "SECRETS.md"), ...(await below(shared, "SECRETS.md"))])];
  const own = await Promise.all(sharedFiles.map((file) => readSecretsFile(file, reader)));
  const brought = await Promise.all(
    (await inventoriesOf(top, drivers, refs, sharedFiles, reader)).map(
      async ({ file, driver }): Promise<Inventory> => ({
        driver,
        entries: (await readSecretsFile(file, reader)) ?? [],
      }),
    ),
  );
  const workspace = mergeSecrets(own.map((list) => list ?? []));
  reader.diagnostics.push(...workspace.diagnostics);
  const ofDrivers = [...new Set(brought.map(({ driver }) => driver))].map((driver): Inventory => {
    const merged = mergeSecrets(brought.flatMap((one) => (one.driver === driver ? [one.entries] : [])));
    reader.diagnostics.push(...merged.diagnostics);
    return { driver, entries: merged.secrets };
  });
  const all: Inventory[] = [{ entries: workspace.secrets }, ...ofDrivers];
  return [...workspace.secrets, ...(await unshared(all, reader))];
}

/** Returns the files that drivers bring or reference, each with its driver. */
async function inventoriesOf(
  top: string,
  drivers: readonly DriverFile[],
  refs: readonly SecretsRef[],
  sharedFiles: readonly string[],
  reader: DriverReader,
): Promise<{ readonly file: string; readonly driver: string | undefined }[]> {
  const idOf = new Map(drivers.map(({ file, id }) => [file, id]));
  const beside = drivers.map(({ file, id }) => ({ file: join(dirname(file), "SECRETS.md"), driver: id }));
  const found = await Promise.all(
    refs.map(async (ref) => {
      const files = await findRef(ref, top, reader, AUTH_REF);
      return files.map((file) => ({ file, ref, driver: idOf.get(ref.file) }));
    }),
  );
  const referred = found.flat().filter(({ file }) => !sharedFiles.includes(file));
  const real = await Promise.all(referred.map(({ file }) => realpath(file).catch(() => file)));
  const folders = await Promise.all(
    drivers.map(async ({ file }) => ({
      file,
      folder: await realpath(dirname(file)).catch(() => dirname(file)),
    })),
  );
  const kept = referred.filter(({ ref, driver }, index) => {
    const path = real[index] ?? "";
    const around = folders.filter(({ folder }) => isBelow(path, folder));
    const owner = around.toSorted((a, b) => b.folder.length - a.folder.length)[0]?.file;
    const other =
      owner === undefined
        ? referred.find((one, at) => one.driver !== driver && real[at] === path)?.ref.file
        : owner === ref.file
          ? undefined
          : owner;
    if (other === undefined) return true;
    reader.diagnostics.push({
      code: "FILE_FAILED",
      severity: "error",
      message: `Portolan ignores auth.ref ${ref.path}: the file belongs to the driver ${idOf.get(other) ?? other}`,
      ...{ file: ref.file, line: ref.line, column: ref.column },
      hint: SHARE,
    });
    return false;
  });
  const files = [...beside, ...kept.map(({ file, driver }) => ({ file, driver }))];
  return files.filter(({ file }, index) => files.findIndex((one) => one.file === file) === index);
}

const SHARE =
  "To share a secret between drivers, list it only in .secrets/SECRETS.md. Otherwise give each driver its own SECRETS.md with different secret names.";

/** Returns the entries that only their own driver names. A name has one value, so two entries of one name would share it. */
async function unshared(inventories: readonly Inventory[], reader: DriverReader): Promise<SecretEntry[]> {
  const { variablesOf } = await driverFormats();
  // The environment variable PORTOLAN_SECRET_X contains the value of the secret X.
  const keysOf = (entry: SecretEntry): string[] =>
    variablesOf(entry).map((name) =>
      name
        .replaceAll("-", "_")
        .toUpperCase()
        .replace(/^(?:PORTOLAN_SECRET_)+/, ""),
    );
  const listedBy = new Map<string, Inventory[]>();
  for (const inventory of inventories) {
    // A driver with errors does not start, and reserves no name.
    if (inventory.driver === undefined && inventory !== inventories[0]) continue;
    for (const key of new Set(inventory.entries.flatMap(keysOf)))
      listedBy.set(key, [...(listedBy.get(key) ?? []), inventory]);
  }
  return inventories.slice(1).flatMap((inventory) => {
    const { driver } = inventory;
    if (driver === undefined) return [];
    return inventory.entries.flatMap((entry) => {
      for (const key of keysOf(entry)) {
        const other = listedBy.get(key)?.find((one) => one !== inventory);
        if (other === undefined) continue;
        const isOfWorkspace = other.driver === undefined;
        const where = isOfWorkspace
          ? "is also in a SECRETS.md in .secrets of the workspace"
          : `is also in the SECRETS.md of the driver ${other.driver}`;
        const { file, line, column } = entry.origin;
        reader.diagnostics.push({
          code: "NAME_AMBIGUOUS",
          severity: "error",
          message: `Portolan ignores the secret ${entry.slug} of the driver ${driver}: ${key} ${where}`,
          ...{ file, line, column },
          hint: isOfWorkspace
            ? "Remove the secret from the SECRETS.md of the driver, and grant it to the driver's contracts in the SECRETS.md of the workspace. Or rename the secret of the driver."
            : SHARE,
        });
        return [];
      }
      return [{ ...entry, driver }];
    });
  });
}

export async function readSecretsFile(
  file: string,
  reader: DriverReader,
): Promise<readonly SecretEntry[] | undefined> {
  const { parseSecrets } = await driverFormats();
  return reader.parse(file, "secrets", async (text) => {
    const { secrets, diagnostics } = parseSecrets(text, file);
    const valid = !diagnostics.some(({ severity }) => severity === "error");
    return { value: valid ? secrets : undefined, diagnostics };
  });
}

/** Kind of reference: the field, the name of the file, and the message for a file outside of the workspace. */
export interface RefKind {
  readonly field: string;
  readonly name: string;
  readonly move: string;
}

const AUTH_REF: RefKind = {
  field: "auth.ref",
  name: "SECRETS.md",
  move: "Move the SECRETS.md into the workspace, and write its new path in auth.ref. The file lists secrets, but does not contain their values.",
};

/** Finds a referenced file in the driver's folder or in the workspace, and never outside of it. */
export async function findRef(
  ref: SecretsRef,
  top: string,
  reader: DriverReader,
  { field, name, move }: RefKind,
): Promise<string[]> {
  const { file, line, column, path } = ref;
  const refuse = (message: string, hint: string): string[] => {
    const finding = { code: "FILE_FAILED", severity: "error", message, file, line, column, hint } as const;
    reader.diagnostics.push(finding satisfies Diagnostic);
    return [];
  };
  const paths = [dirname(file), top].map((base) =>
    /\.md$/i.test(path) ? resolve(base, path) : resolve(base, path, name),
  );
  const inside = [...new Set(paths)].filter((one) => isBelow(one, top));
  const outside = `${field} ${path} is outside of the workspace, so Portolan does not read it`;
  if (inside.length === 0) return refuse(outside, move);
  const there = await Promise.all(inside.map(isFile));
  const found = inside.find((_, index) => there[index]);
  if (found === undefined) {
    reader.missing.push(...inside);
    const hint = `Create the file, or correct the path. Portolan looks for the path in the folder of this file, then in the workspace.`;
    return refuse(`${field} ${path} does not exist`, hint);
  }
  const [real, root] = await Promise.all([found, top].map((one) => realpath(one).catch(() => undefined)));
  return real === undefined || root === undefined || !isBelow(real, root) ? refuse(outside, move) : [found];
}

export function isBelow(file: string, folder: string): boolean {
  const path = relative(folder, file);
  return path !== "" && path !== ".." && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}
