// npm packages, installed once and run from the store: without install scripts, and without network at later
// starts.

import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type Integrity, toSri } from "../../base/text/integrity.ts";
import { isPortolanError, PortolanError } from "../../errors/index.ts";
import { type PackageSpec, parsePackageSpec } from "../../model/index.ts";
import type { Progress } from "../download.ts";
import {
  defaultStoreRoot,
  type Inspected,
  openStore,
  type Pause,
  type Store,
  type StoreRecord,
  type Verified,
} from "../store/store.ts";
import { findBin } from "./bin.ts";
import { dependenciesOf, hashOfDependencies } from "./dependencies.ts";
import { listOf, npmInstall, resolveVersion } from "./install.ts";
import { readLock } from "./lock.ts";

export interface Installed {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
  /** The folder that the program needs, to be granted read-only. */
  readonly folder: string;
  /** An absolute path of the program, or of the Node that runs it. */
  readonly file: string;
  /** Arguments before the server's own. */
  readonly args: readonly string[];
}

export interface NpmOptions {
  readonly spec: string;
  /** A program of the package. Default: the one with the package's name, or its only one. */
  readonly bin?: string;
  /** The hash that the package must have. The spec then names an exact version. */
  readonly integrity?: Integrity;
  /** The packages that it must be installed with, as `dependenciesOf` writes them. */
  readonly dependencies?: readonly string[];
  readonly root: string;
  /** Resolves the version again, even if the package is installed. */
  readonly update?: boolean;
  readonly server?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  readonly env?: NodeJS.ProcessEnv;
  readonly pause?: Pause;
}

/** Finds an installed package without network. Undefined: it must be installed first. */
export async function installed(
  options: Identity & Pick<NpmOptions, "bin" | "root">,
): Promise<Installed | undefined> {
  const store = openStore(options.root, "npm");
  const found = await inspect(store, parse(options.spec), options);
  if (found === undefined || found.broken.length > 0) return undefined;
  const { record } = found;
  return toInstalled(record, store.folderOf(record.key), options.bin).catch(() => undefined);
}

type Identity = Pick<NpmOptions, "spec" | "integrity" | "dependencies">;

/** The dependencies of an installed package; undefined if it is not installed. */
export async function readDependencies(
  options: Identity & { readonly root?: string },
): Promise<string[] | undefined> {
  const store = openStore(options.root ?? (await defaultStoreRoot()), "npm");
  const wanted = parse(options.spec);
  const found = await inspect(store, wanted, options);
  return found && listOfEntry(store, found.record, wanted.name);
}

async function listOfEntry(store: Store, { key }: StoreRecord, name: string): Promise<string[] | undefined> {
  const lock = await readLock(join(store.folderOf(key), "package-lock.json")).catch(() => undefined);
  return lock && dependenciesOf(lock, name);
}

/** A package that was installed before its dependencies were locked is used if it has exactly these. */
async function inspect(
  store: Store,
  wanted: PackageSpec,
  { integrity, dependencies }: Omit<Identity, "spec">,
): Promise<Inspected | undefined> {
  const own = await store.inspect(keyOf(wanted, { integrity, dependencies }));
  if (own !== undefined || dependencies === undefined) return own;
  const first = await store.inspect(keyOf(wanted, { integrity }));
  if (first === undefined || first.broken.length > 0) return undefined;
  const list = await listOfEntry(store, first.record, wanted.name);
  return isDeepStrictEqual(list, [...dependencies].sort()) ? first : undefined;
}

/** Searches the user's own store, without network. */
export async function isPackageInstalled(options: Identity & Pick<NpmOptions, "bin">): Promise<boolean> {
  return (await installed({ ...options, root: await defaultStoreRoot() })) !== undefined;
}

/** The record of a package in the user's own store, and its broken parts. */
export async function inspectPackage(options: Identity): Promise<Inspected | undefined> {
  return inspect(openStore(await defaultStoreRoot(), "npm"), parse(options.spec), options);
}

/** The version of a package in the user's own store, the one that an update would install now, and the one with the tag `latest`. */
export async function findNpmUpdate(
  options: Identity & Pick<NpmOptions, "signal" | "env">,
): Promise<{ readonly installed?: string; readonly available: string; readonly latest?: string }> {
  const root = await defaultStoreRoot();
  const wanted = parse(options.spec);
  const found = await inspect(openStore(root, "npm"), wanted, options);
  const [available, latest] = await Promise.all([
    resolveVersion(wanted, { ...options, root }),
    // This version is not installed, so it need not be installable.
    resolveVersion({ ...wanted, range: "latest" }, { ...options, root }).catch(() => undefined),
  ]);
  return { installed: found?.record.version, available, latest };
}

/** Compares every file of an installed package and of its dependencies with its hash. Undefined if it is not installed. */
export async function verifyNpm(
  options: Identity & Pick<NpmOptions, "root"> & { readonly discard?: boolean },
): Promise<Verified | undefined> {
  const store = openStore(options.root, "npm");
  const wanted = parse(options.spec);
  const found = await inspect(store, wanted, options);
  return store.verify(found?.record.spec ?? keyOf(wanted, options), options);
}

/** A package whose hash or dependencies were checked has a record of its own, so that the check need not be repeated. */
function keyOf(
  { spec }: Pick<PackageSpec, "spec">,
  { integrity, dependencies }: Pick<NpmOptions, "integrity" | "dependencies">,
): string {
  const key = integrity === undefined ? spec : `${spec} ${toSri(integrity)}`;
  return dependencies === undefined ? key : `${key} ${hashOfDependencies(dependencies)}`;
}

export async function installNpm(options: NpmOptions): Promise<Installed> {
  const { root, bin, update = false, signal } = options;
  const wanted = parse(options.spec);
  const store = openStore(root, "npm", options.pause);
  const key = keyOf(wanted, options);
  const there = update ? undefined : await inspect(store, wanted, options);
  const { broken = [] } = there ?? {};
  const known = broken.length === 0 ? there?.record : undefined;
  const add = (again: boolean, why: readonly string[]): Promise<StoreRecord> =>
    store
      .add(key, ({ folder }) => npmInstall(wanted, folder, options, why), { again, signal })
      .catch((error: unknown) => {
        throw why.length > 0 && isPortolanError(error) ? notMended(wanted.spec, why, error) : error;
      });
  const record = known ?? (await add(update, broken));
  try {
    return await toInstalled(record, store.folderOf(record.key), bin);
  } catch (error) {
    // The program existed once, so that somebody removed files from the store.
    if (known === undefined || (error as PortolanError).data?.missing !== true) throw error;
    await store.spoil(known.key);
    const again = await add(true, ["its program is missing"]);
    return toInstalled(again, store.folderOf(again.key), bin);
  }
}

function notMended(spec: string, broken: readonly string[], error: PortolanError): PortolanError {
  const message = `The installed files of ${spec} are damaged (${listOf(broken)}), and Portolan could not install it again. ${error.message}`;
  return new PortolanError(error.code, message, {
    cause: error,
    hint: error.hint,
    data: { ...error.data, spec, broken },
  });
}

export async function listInstalled(root: string): Promise<StoreRecord[]> {
  return openStore(root, "npm").list();
}

export async function removeInstalled(options: Pick<NpmOptions, "spec" | "root">): Promise<boolean> {
  return openStore(options.root, "npm").remove(parse(options.spec).spec);
}

async function toInstalled(
  { name, version, integrity }: StoreRecord,
  folder: string,
  bin: string | undefined,
): Promise<Installed> {
  return { name, version, integrity, folder, ...(await findBin(folder, name, bin)) };
}

function parse(text: string): PackageSpec {
  const spec = parsePackageSpec(text);
  if (typeof spec !== "string") return spec;
  throw new PortolanError("INSTALL_FAILED", `${spec}.`, {
    hint: "Name a package and a version or range, such as name@^1.2.0.",
  });
}
