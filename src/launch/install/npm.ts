// Packages of a registry, installed once and run from the store: no scripts of strangers, no network at a later start.

import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import { runNpm } from "./npm-cli.ts";
import { findBin } from "./package-bin.ts";
import { type PackageSpec, parsePackageSpec } from "./package-spec.ts";
import { openStore, type Pause, type StoreRecord } from "./store.ts";

export interface Installed {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
  /** All that the program needs, to be mounted read-only. */
  readonly folder: string;
  /** An absolute path: of the program, or of the Node that runs it. */
  readonly file: string;
  /** What comes before the server's own arguments. */
  readonly args: readonly string[];
}

export interface Progress {
  readonly server?: string | undefined;
  readonly what: string;
}

export interface NpmOptions {
  readonly spec: string;
  /** One of the package's programs; by default the one that is called like it, or its only one. */
  readonly bin?: string | undefined;
  readonly root: string;
  /** Resolves it anew, although it is there. */
  readonly update?: boolean | undefined;
  readonly server?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly env?: NodeJS.ProcessEnv | undefined;
  readonly pause?: Pause | undefined;
}

/** Everything that a user's own settings could turn around is said here. */
const INSTALL = [
  "install",
  "--ignore-scripts",
  "--no-audit",
  "--no-fund",
  "--omit=dev",
  "--include=prod",
  "--include=optional",
  "--global=false",
  "--workspaces=false",
  "--package-lock=true",
  "--package-lock-only=false",
  "--lockfile-version=3",
  "--dry-run=false",
  "--install-strategy=hoisted",
  "--install-links=true",
  "--bin-links=true",
  "--allow-git=none",
  "--progress=false",
  "--update-notifier=false",
  "--logs-max=0",
  "--loglevel=error",
];

/** Without network. Undefined: it must be installed first. */
export async function installed(
  options: Pick<NpmOptions, "spec" | "bin" | "root">,
): Promise<Installed | undefined> {
  const { spec } = parse(options.spec);
  const store = openStore(options.root, "npm");
  const record = await store.find(spec);
  if (record === undefined) return undefined;
  return toInstalled(record, store.folderOf(record.key), options.bin).catch(() => undefined);
}

export async function installNpm(options: NpmOptions): Promise<Installed> {
  const { root, bin, update = false, signal } = options;
  const wanted = parse(options.spec);
  const store = openStore(root, "npm", options.pause);
  const add = (again: boolean): Promise<StoreRecord> =>
    store.add(wanted.spec, ({ folder }) => install(wanted, folder, options), { again, signal });
  const known = update ? undefined : await store.find(wanted.spec);
  const record = known ?? (await add(update));
  try {
    return await toInstalled(record, store.folderOf(record.key), bin);
  } catch (error) {
    // A program that was there once and is gone now: someone tidied up inside of the store.
    if (known === undefined || (error as PortolanError).data?.missing !== true) throw error;
    await store.spoil(known.key);
    const again = await add(true);
    return toInstalled(again, store.folderOf(again.key), bin);
  }
}

export async function listInstalled(root: string): Promise<StoreRecord[]> {
  return openStore(root, "npm").list();
}

export async function removeInstalled(options: Pick<NpmOptions, "spec" | "root">): Promise<boolean> {
  return openStore(options.root, "npm").remove(parse(options.spec).spec);
}

async function install(
  { name, range, spec }: PackageSpec,
  folder: string,
  { server, signal, onProgress, env }: NpmOptions,
): Promise<Omit<StoreRecord, "spec">> {
  onProgress?.({ server, what: `installing ${spec}` });
  const manifest = { name: "portolan-store", private: true, dependencies: { [name]: range } };
  await writeFile(join(folder, "package.json"), JSON.stringify(manifest), { flag: "wx" });
  const { code, kind, reason } = await runNpm({ args: INSTALL, cwd: folder, signal, env });
  if (code !== 0) throw npmError(spec, reason, kind);
  const lock = await readLock(join(folder, "package-lock.json"));
  const own = lock.get(`node_modules/${name}`);
  if (own?.version === undefined || own.integrity === undefined)
    throw new PortolanError("INSTALL_FAILED", `${spec} was installed without a hash to know it by.`, {
      hint: "Its registry gives no integrity for it; ask whoever runs that registry.",
      data: { spec },
    });
  onProgress?.({ server, what: `installed ${name}@${own.version}` });
  return { name, version: own.version, integrity: own.integrity, key: keyOf(lock) };
}

interface Locked {
  readonly version: string | undefined;
  readonly integrity: string | undefined;
}

async function readLock(path: string): Promise<Map<string, Locked>> {
  const value: unknown = JSON.parse(await readFile(path, "utf8"));
  const packages = isObject(value) && isObject(value.packages) ? value.packages : {};
  const text = (found: unknown): string | undefined => (typeof found === "string" ? found : undefined);
  return new Map(
    Object.entries(packages)
      .filter((entry): entry is [string, Record<string, unknown>] => entry[0] !== "" && isObject(entry[1]))
      .map(([place, found]) => [place, { version: text(found.version), integrity: text(found.integrity) }]),
  );
}

/** The same packages in the same places are the same folder; which optional ones are there depends on the machine. */
function keyOf(lock: ReadonlyMap<string, Locked>): string {
  const lines = [...lock].map(([place, { version, integrity }]) => [place, version, integrity]);
  const content = [process.platform, process.arch, lines.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1))];
  return createHash("sha512").update(JSON.stringify(content)).digest("hex").slice(0, 64);
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

function npmError(spec: string, reason: string, kind: string | undefined): PortolanError {
  return new PortolanError(
    "INSTALL_FAILED",
    `npm could not install ${spec}: ${reason || "it gave no reason"}`,
    {
      data: { spec, ...(kind === undefined ? {} : { reason: kind }) },
      hint: hintFor(kind),
    },
  );
}

function hintFor(kind: string | undefined): string | undefined {
  if (kind === undefined) return undefined;
  if (
    /^(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|FETCH_ERROR)$/.test(
      kind,
    )
  )
    return "The registry cannot be reached: check the network and npm's registry setting. Once installed, it starts without network.";
  if (kind === "E404")
    return "Check the package's name; a private one needs you to be signed in (npm login).";
  if (kind === "ETARGET") return "No version of it is in that range: check the version.";
  if (kind === "E401" || kind === "E403") return "The registry wants credentials: sign in with npm login.";
  if (kind === "EINTEGRITY")
    return "What was downloaded is not what the registry promised: do not trust it, and report it.";
  if (kind === "ENOSPC") return "Free some space on the disk that holds the store.";
  if (kind === "EALLOWGIT")
    return "It depends on a git repository, which is not fetched: ask its author to publish that part.";
  return undefined;
}
