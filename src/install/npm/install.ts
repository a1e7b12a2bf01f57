// Installs one package with npm in two steps: npm resolves it to a lock file, which is checked, and then installs
// exactly that.

import { chmod, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join, sep } from "node:path";
import { toSri } from "../../base/text/integrity.ts";
import { certificateHint, packageNotFound, PortolanError } from "../../errors/index.ts";
import { type PackageSpec, registryHint } from "../../model/index.ts";
import { missingPlaces, PUT_THERE } from "../store/broken-parts.ts";
import { type Made, refuseFullDisk } from "../store/store.ts";
import { isMissingPackage, type NpmEnd, runNpm } from "./cli.ts";
import { isAsAgreed, keyOf, type Lock, readLock, refuseOthers } from "./lock.ts";
import { isNetworkFailure, NPM_LOG_LEVEL } from "./network.ts";
import { dependenciesOf, refuseOtherDependencies, refuseSwappedBytes, toNpmLock } from "./dependencies.ts";
import { checkTarball, refuseOtherHash, refuseOtherVersion } from "./expected-hash.ts";
import type { NpmOptions } from "./package.ts";

/** Overrides every setting of the user that could change the result. */
const SETTINGS = [
  "--ignore-scripts",
  "--no-audit",
  "--no-fund",
  "--omit=dev",
  "--include=prod",
  "--include=optional",
  "--global=false",
  "--location=project",
  "--workspaces=false",
  "--package-lock=true",
  "--omit-lockfile-registry-resolved=false",
  "--lockfile-version=3",
  "--dry-run=false",
  "--install-strategy=hoisted",
  "--install-links=true",
  // Links are not needed, and the permission model allows them only with write access everywhere.
  "--bin-links=false",
  "--allow-git=none",
  "--progress=false",
  "--update-notifier=false",
  "--logs-max=0",
  `--loglevel=${NPM_LOG_LEVEL}`,
];

export async function npmInstall(
  wanted: PackageSpec,
  folder: string,
  options: NpmOptions,
  broken: readonly string[] = [],
): Promise<Made> {
  const { name, range, spec } = wanted;
  const { onProgress, integrity, dependencies } = options;
  const why = broken.length === 0 ? "" : ` again: ${listOf(broken)}`;
  onProgress?.({ what: `installing ${spec}${why}` });
  await writeManifest(folder, { name, range });
  if (dependencies !== undefined) {
    const own = {
      name,
      version: range,
      integrity: integrity?.algorithm === "sha512" ? toSri(integrity) : undefined,
    };
    const text = JSON.stringify(toNpmLock(own, dependencies));
    await writeFile(join(folder, "package-lock.json"), text, { flag: "wx" });
  }
  const cwd = await realpath(folder);
  // The packages of a broken one are most likely still in npm's cache.
  const { cache, npm } = npmIn(cwd, wanted, options, broken.length === 0 ? [] : ["--prefer-offline"]);
  const run = async (...words: string[]): Promise<void> => {
    const end = await npm(...words);
    if (end.code === 0) return;
    refuseSwappedBytes(spec, dependencies ?? [], end.reason);
    throw npmError(wanted, end);
  };
  await run("install", "--package-lock-only");
  const lock = await readList(folder, "package-lock.json");
  const own = ownOf(spec, name, lock);
  const isFixed = dependencies !== undefined;
  refuseOthers({ spec, name }, lock, { isFixed });
  refuseOtherVersion(wanted, own.version);
  if (dependencies !== undefined) refuseOtherDependencies(spec, dependencies, dependenciesOf(lock, name));
  // The hash of the same kind is known before anything is downloaded.
  if (integrity !== undefined) refuseOtherHash(spec, integrity, own.integrity);
  await run("ci", "--package-lock-only=false");
  if (integrity !== undefined) await checkTarball(spec, integrity, own.integrity, cache);
  const there = await readList(folder, PUT_THERE);
  refuseOthers({ spec, name }, there, { isFixed });
  if (!isAsAgreed(lock, there)) throw notAgreed(spec);
  await refuseMissing(spec, folder, there);
  await allowPrograms(cwd, there);
  onProgress?.({ what: `installed ${name}@${own.version}` });
  return { name, ...own, key: keyOf(lock), sealed: sealedOf(name, there) };
}

/** The version that an installation would choose now. Nothing is installed. */
export async function resolveVersion(
  wanted: PackageSpec,
  options: Pick<NpmOptions, "root" | "signal" | "env">,
): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "portolan-npm-")));
  try {
    await writeManifest(folder, wanted);
    const end = await npmIn(folder, wanted, options).npm("install", "--package-lock-only");
    if (end.code !== 0) throw npmError(wanted, end);
    return ownOf(wanted.spec, wanted.name, await readList(folder, "package-lock.json")).version;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeManifest(
  folder: string,
  { name, range }: Pick<PackageSpec, "name" | "range">,
): Promise<void> {
  const manifest = { name: "portolan-store", private: true, dependencies: { [name]: range } };
  await writeFile(join(folder, "package.json"), JSON.stringify(manifest), { flag: "wx" });
}

/** npm with the same settings for every command; `cwd` is a real path. */
function npmIn(
  cwd: string,
  { registry }: Pick<PackageSpec, "registry">,
  { root, signal, env = process.env }: Pick<NpmOptions, "root" | "signal" | "env">,
  more: readonly string[] = [],
): { readonly cache: string; readonly npm: (...words: string[]) => Promise<NpmEnd> } {
  const cache = cacheOf(env) ?? join(root, "npm", "cache");
  const settings = [
    ...SETTINGS,
    `--cache=${cache}`,
    // Versions of npm without `--allow-git` run git.
    `--git=${join(cwd, "no-git")}`,
    ...(registry === undefined ? [] : [`--registry=${registry}`]),
    ...more,
  ];
  const npm = (...words: string[]): Promise<NpmEnd> =>
    runNpm({ args: [...words, ...settings], cwd, signal, env, writable: [cwd, cache] });
  return { cache, npm };
}

/** The cache folder of the environment if it is an absolute path; else one beside the store. */
function cacheOf(env: NodeJS.ProcessEnv): string | undefined {
  const [, named] = Object.entries(env).find(([variable]) => /^npm_config_cache$/i.test(variable)) ?? [];
  return named !== undefined && isAbsolute(named) ? named : undefined;
}

/** On a full disk, npm may leave out the file, or half of it, without an error. */
async function readList(folder: string, path: string): Promise<Lock> {
  try {
    return await readLock(join(folder, path));
  } catch (error) {
    await refuseFullDisk(folder);
    throw new PortolanError(
      "INSTALL_FAILED",
      `npm ended without an error, but its lock file is missing or incomplete: ${join(folder, path)}`,
      {
        cause: error,
        hint: "Try again. If it fails again, repeat the command with --text --verbose to see the cause. For a server of a workspace, the command is portolan install.",
      },
    );
  }
}

/** A missing part would count as broken at every start. */
async function refuseMissing(spec: string, folder: string, there: Lock): Promise<void> {
  const missing = missingPlaces(folder, there);
  if (missing.length === 0) return;
  await refuseFullDisk(folder);
  throw new PortolanError(
    "INSTALL_FAILED",
    `npm did not install all parts of ${spec}. Missing: ${listOf(missing)}`,
    {
      data: { spec, reason: "EPART" },
    },
  );
}

function ownOf(spec: string, name: string, lock: Lock): { version: string; integrity: string } {
  const { version, integrity } = lock.get(`node_modules/${name}`) ?? {};
  if (version !== undefined && integrity !== undefined) return { version, integrity };
  throw new PortolanError(
    "INSTALL_FAILED",
    `The npm registry has no integrity hash for ${spec}, so Portolan does not install it.`,
    {
      hint: "Report this to the operator of the registry.",
      data: { spec },
    },
  );
}

/** Archives may lack the executable bit, which npm would set when it creates links. */
async function allowPrograms(folder: string, lock: Lock): Promise<void> {
  for (const [place, { bin }] of lock)
    for (const path of bin.values()) {
      const real = await realpath(join(folder, place, path)).catch(() => undefined);
      if (real?.startsWith(folder + sep) === true) await chmod(real, 0o755).catch(() => {});
    }
}

/** The files to verify before each start, which must be few. */
function sealedOf(name: string, lock: Lock): string[] {
  const place = `node_modules/${name}`;
  const programs = [...(lock.get(place)?.bin.values() ?? [])].map((path) => join(place, path));
  return ["package-lock.json", `${place}/package.json`, ...programs];
}

function notAgreed(spec: string): PortolanError {
  return new PortolanError(
    "INSTALL_FAILED",
    `npm installed other dependencies of ${spec} than it had chosen before the download.`,
    {
      hint: "Try again. If this happens again, do not trust the package, and report it to the operator of the registry.",
      data: { spec, reason: "EPART" },
    },
  );
}

/**
 * Failures that every further attempt would repeat: no such package, no such version, or parts that are never
 * installed.
 */
const PERMANENT: ReadonlySet<string> = new Set([
  "E404",
  "ETARGET",
  "EALLOWGIT",
  "EUSAGE",
  "EINVALIDPACKAGENAME",
]);

function npmError(wanted: PackageSpec, { reason, kind }: NpmEnd): PortolanError {
  const { spec, registry } = wanted;
  const why = reason || "it gave no reason";
  const login = registry === undefined ? "npm login" : `npm login --registry=${registry}`;
  const notFound = kind === "E404" ? packageNotFound(spec, "npm's registry", login) : undefined;
  return new PortolanError(
    isMissingPackage(kind) ? "PACKAGE_NOT_FOUND" : "INSTALL_FAILED",
    notFound !== undefined
      ? `${notFound.message}: ${why}`
      : isNetworkFailure(kind)
        ? `npm could not install ${spec}, because its registry cannot be reached: ${why}`
        : `npm could not install ${spec}: ${why}`,
    {
      data: {
        spec,
        reason: kind,
        ...(PERMANENT.has(kind ?? "") ? { permanent: true } : {}),
      },
      hint: notFound?.hint ?? hintFor(kind, login, wanted),
    },
  );
}

const TRUST =
  "If your company inspects TLS connections, or the registry belongs to your company, name the file of its CA certificate (PEM): npm config set cafile <file>, or set the variable NODE_EXTRA_CA_CERTS to the file, which npm uses if it has no cafile.";

function hintFor(kind: string | undefined, login: string, wanted: PackageSpec): string | undefined {
  if (kind === undefined) return undefined;
  if (isNetworkFailure(kind))
    return `Portolan needs the network only for the installation, not for later starts of the server. Check the network connection. ${registryHint(wanted)}`;
  if (kind === "ETARGET") return "The package has no version in that range. Check the version.";
  if (kind === "E401") return `The registry requires credentials. Log in: ${login}`;
  if (kind === "E403")
    return `The registry refused access to the package. Log in with an account that may read it: ${login}`;
  if (kind === "EINTEGRITY")
    return "The download does not match the registry's hash. Do not trust the package, and report it to the operator of the registry.";
  if (kind === "ENOSPC") return "Free some space on the disk of the store.";
  if (kind === "EALLOWGIT" || kind === "ERR_ACCESS_DENIED")
    return "The package depends on a git repository, which Portolan does not download. Ask the author of the package to publish that dependency to npm.";
  if (kind === "EUSAGE")
    return "An optional dependency of the package cannot be installed, for example because it is a git repository. Ask the author of the package to publish that dependency to npm.";
  return certificateHint(kind, TRUST);
}

/** The first three of possibly hundreds. */
export function listOf(parts: readonly string[]): string {
  return `${parts.slice(0, 3).join(", ")}${parts.length > 3 ? ` and ${parts.length - 3} more` : ""}`;
}
