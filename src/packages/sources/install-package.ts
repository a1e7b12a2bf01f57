// Installs the files of a package into the store: from npm, or from a URL with a hash. A failure leaves nothing behind.

import { extname } from "node:path";
import type { Integrity } from "../../base/text/integrity.ts";
import { isPortolanError, PortolanError } from "../../errors/index.ts";
import {
  defaultStoreRoot,
  findFile,
  installFile,
  installNpm,
  interpreterOf,
  readDependencies,
  verifyFile,
  verifyNpm,
  type Verified,
} from "../../install/index.ts";
import type { LockedPackage } from "../lock/schema.ts";
import { requireIntegrity } from "./check-lock.ts";
import type { InstalledPackage, PackageContext, PackageSource } from "./types.ts";

/** An exact version of a package, as the source of a package names it. */
const NPM_URL = /^npm:((?:@[^/@\s]+\/)?[^/@\s]+)@([^@\s/]+)$/;
/** The URL of a tarball at a registry of npm. */
const TARBALL = /^(https?:\/\/[^?#]*?)\/((?:@[^/]+\/)?[^/]+)\/-\/(?:[^/]+-)?(\d+\.\d+\.\d+[^/]*)\.tgz$/;

export async function installPackage(
  source: PackageSource,
  context: PackageContext = {},
): Promise<InstalledPackage> {
  const { server } = context;
  try {
    return await (source.type === "npm" ? fromNpm(source, context) : fromFile(source, context));
  } catch (error) {
    throw isPortolanError(error) ? error.at({ server }) : error;
  }
}

/** Finds an installed package without network. Packages of npm have their own lookup: `isPackageInstalled`. */
export async function findPackageFile(
  source: PackageSource,
  context: PackageContext = {},
): Promise<InstalledPackage | undefined> {
  const root = context.root ?? (await defaultStoreRoot());
  const integrity = requireIntegrity(source.integrity, source.url, context.server);
  const found = await findFile({ integrity, root, content: contentOf(source) });
  return found && toInstalled(source, found);
}

/** Compares every installed file of a package with its hash. Undefined if the package is not installed. */
export async function verifyPackageFiles(
  source: PackageSource,
  { discard, dependencies, ...context }: VerifyOptions & { readonly dependencies?: readonly string[] },
): Promise<Verified | undefined> {
  const root = context.root ?? (await defaultStoreRoot());
  if (source.type === "npm") return verifyNpm({ ...toNpmProgram(source), dependencies, root, discard });
  return verifyFile({
    integrity: requireIntegrity(source.integrity, source.url),
    content: contentOf(source),
    root,
    discard,
  });
}

/** The npm packages that a package of npm is installed with, for the lock file. Undefined for other packages. */
export async function readInstalledDependencies({
  source,
  integrity,
}: Pick<LockedPackage, "source" | "integrity">): Promise<readonly string[] | undefined> {
  if (!NPM_URL.test(source) && !TARBALL.test(source)) return undefined;
  return readDependencies(toNpmProgram({ type: "npm", url: source, integrity, executable: "" }));
}

export interface VerifyOptions {
  /** The folder of the store. Default: the user's own. */
  readonly root?: string;
  /** Marks a damaged package as broken, so that the next installation replaces it. */
  readonly discard?: boolean;
}

/** The spec of npm, its hash, and the program in it. */
export function toNpmProgram(source: PackageSource): {
  readonly spec: string;
  readonly integrity: Integrity;
  readonly bin: string;
} {
  const integrity = requireIntegrity(source.integrity, source.url);
  const [, name, version] = NPM_URL.exec(source.url) ?? [];
  if (name !== undefined && version !== undefined)
    return { spec: `${name}@${version}`, integrity, bin: source.executable };
  const [, registry, own, exact] = TARBALL.exec(source.url) ?? [];
  if (registry !== undefined && own !== undefined && exact !== undefined)
    return {
      spec: `${decodeURIComponent(own)}@${exact} --registry=${registry}/`,
      integrity,
      bin: source.executable,
    };
  throw new PortolanError("INSTALL_FAILED", `${source.url} is not an npm package.`, {
    hint: "Its publisher must write npm:<package>@<version>, or the URL of a tarball at an npm registry.",
  });
}

async function fromNpm(source: PackageSource, context: PackageContext): Promise<InstalledPackage> {
  const { server, signal, onProgress, env } = context;
  const root = context.root ?? (await defaultStoreRoot());
  const options = { ...toNpmProgram(source), root, server, signal, onProgress, env };
  const { folder, file, args } = await installNpm(options);
  return { integrity: source.integrity, folder, command: file, args };
}

async function fromFile(source: PackageSource, context: PackageContext): Promise<InstalledPackage> {
  const { signal, onProgress, mirrors, token } = context;
  const root = context.root ?? (await defaultStoreRoot());
  const integrity = requireIntegrity(source.integrity, source.url, context.server);
  const urls = [source.url, ...(mirrors?.(source.integrity) ?? [])] as const;
  const content = contentOf(source);
  const found = await installFile({
    ...{ urls, integrity, size: source.size, content, root, signal, onProgress, token },
  });
  return toInstalled(source, found);
}

function contentOf({ executable }: PackageSource): { readonly kind: "package"; readonly program: string } {
  return { kind: "package", program: executable };
}

async function toInstalled(
  { integrity, runtime }: PackageSource,
  { file, folder }: { readonly file: string; readonly folder: string },
): Promise<InstalledPackage> {
  const found = { integrity, folder };
  const extension = extname(file).toLowerCase();
  const isPython = extension === ".py" || (runtime === "python" && extension === "");
  if (isPython) return { ...found, command: "python3", args: [file] };
  const { command, args } = await interpreterOf(file, runtime === "node" || /^\.[cm]?js$/.test(extension));
  return { ...found, command, args };
}
