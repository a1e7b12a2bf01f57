// The program of a package that the lock file names: its metadata document from the store, then its files, both compared with the
// lock.

import { dirname } from "node:path";
import { parseIntegrity, sameIntegrity, integrityOf } from "../../base/text/integrity.ts";
import { PortolanError } from "../../errors/index.ts";
import { type PackageMetadata, settingText, variableOf } from "../../formats/package/index.ts";
import { mcpbRequirements } from "../../formats/mcpb/index.ts";
import { fillOption } from "../../formats/server-json/index.ts";
import { checkRequires } from "../../install/index.ts";
import { isObject } from "../../model/index.ts";
import { type LockedReference, readLockedPackage } from "./check-lock.ts";
import type { LockedPackage } from "../lock/schema.ts";
import { installBundle, keepManifest, manifestOf, missingSettings, toBundleProgram } from "./bundle.ts";
import {
  changedDocument,
  checkNamed,
  changedLock,
  checkDocument,
  checkNode,
  checkSandboxType,
  checkTransport,
  incompleteLockHint,
} from "./document-checks.ts";
import { keepDocument, readDocument } from "./documents.ts";
import { findPackageFile, installPackage, toNpmProgram } from "./install-package.ts";
import { optionOf, parseServerDocument } from "./official.ts";
import { parseDocument, toPackageSource } from "./read-document.ts";
import type { PackageContext, PackageSource } from "./types.ts";

export interface LockedContext extends Omit<PackageContext, "mirrors" | "token"> {
  /** URLs of further copies of a file, by the lock entry and the hash. */
  readonly mirrorsOf?: (locked: LockedPackage, integrity: string) => readonly string[];
  /** The bearer token for a URL, by the lock entry. */
  readonly tokenFor?: (locked: LockedPackage, url: string) => Promise<string | undefined>;
  /** The variables of the server config: settings of bundles are among them. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Fetches a metadata document that is not in the store. Its hash is checked afterwards. */
  readonly fetchDocument?: (locked: LockedPackage) => Promise<Uint8Array>;
}

/** The program of a package, for the launch of a server. */
export interface PackageProgram {
  readonly locked: LockedPackage;
  /** The metadata document; absent for bundles and for servers of the official registry. */
  readonly metadata?: PackageMetadata;
  /** Human-readable: name, version, where it came from, and its hash. */
  readonly source: string;
  /** How it is run: by npm's installer, which needs nothing of the store; or a program of the store. */
  readonly program:
    | {
        readonly kind: "npm";
        readonly spec: string;
        readonly bin?: string;
        readonly integrity: string;
        readonly dependencies?: readonly string[];
      }
    | {
        readonly kind: "file";
        readonly command: string;
        readonly args: readonly string[];
        readonly folder: string;
      }
    /** Only without `install`. */
    | { readonly kind: "absent" };
  /** Arguments of the program, before the server's own. */
  readonly args: readonly string[];
  /** Variables that the package sets, and default values of settings. Those of the server config have priority. */
  readonly env: Readonly<Record<string, string>>;
  /** The folder that it runs in, if the config names none. */
  readonly cwd?: string;
  /** The range of Python versions that it needs. */
  readonly python?: string;
  /** The server must not run without a sandbox. */
  readonly sandboxRequired: boolean;
}

/**
 * Finds the program of a package, and installs it if it is missing. With `install: false` nothing is downloaded, and a package
 * that is not there is `absent`.
 */
export async function openLockedPackage(
  request: LockedReference,
  context: LockedContext = {},
  { install }: { readonly install: boolean } = { install: true },
): Promise<PackageProgram> {
  const { reference } = request;
  const locked = await readLockedPackage(request);
  const own = {
    ...context,
    mirrors: (hash: string) => context.mirrorsOf?.(locked, hash) ?? [],
    token: async (url: string) => context.tokenFor?.(locked, url),
  };
  const opening = { ...request, locked };
  switch (reference.kind) {
    case "package":
      return openPackage(opening, own, install);
    case "official":
      return openOfficial(opening, own, install);
    case "mcpb":
      return openBundle({ ...opening, location: reference.location }, own, install);
  }
}

interface Opening extends LockedReference {
  readonly locked: LockedPackage;
}

type OpenContext = LockedContext & PackageContext;

async function openPackage(
  { server, locked }: Opening,
  context: OpenContext,
  install: boolean,
): Promise<PackageProgram> {
  const label = `${locked.name}@${locked.version}`;
  const metadata = parseDocument(await documentOf(locked, context, install), label);
  checkDocument(locked, metadata, server);
  checkTransport(metadata, server);
  checkSandboxType(metadata, server);
  const { os, arch, runtime } = metadata.requirements ?? {};
  await checkRequires({ os, arch }, { server });
  checkNode(runtime?.node, label, server);
  const source = toPackageSource(metadata);
  return {
    locked,
    metadata,
    source: `${label} (${source.url} ${source.integrity})`,
    program: await programOf(source, locked, context, install),
    args: metadata.mcp.args ?? [],
    env: defaultsOf(metadata),
    python: runtime?.python,
    sandboxRequired: metadata.security.sandbox?.required === true,
  };
}

/** The metadata of a locked package, without its files. Undefined for bundles and servers of the official registry. */
export async function openLockedMetadata(
  request: LockedReference,
  context: LockedContext = {},
  { install }: { readonly install: boolean } = { install: true },
): Promise<PackageMetadata | undefined> {
  if (request.reference.kind !== "package") return undefined;
  const locked = await readLockedPackage(request);
  const bytes = await documentOf(locked, context, install);
  const metadata = parseDocument(bytes, `${locked.name}@${locked.version}`);
  checkDocument(locked, metadata, request.server);
  return metadata;
}

/** A server of the official registry: the lock file names one of its packages, and the hash of it. */
async function openOfficial(
  opening: Opening,
  context: OpenContext,
  install: boolean,
): Promise<PackageProgram> {
  const { server, locked } = opening;
  const label = `${locked.name}@${locked.version}`;
  const document = parseServerDocument(await documentOf(locked, context, install), label);
  checkNamed(locked, document, server);
  const option = optionOf(document, locked.source);
  if (option === undefined) throw changedLock(locked, "source", server);
  const declared = "integrity" in option ? option.integrity : undefined;
  if (declared !== undefined && declared !== locked.integrity) throw changedLock(locked, "integrity", server);
  const { args, env, missing } = fillOption(option, context.variables ?? {});
  if (missing.length > 0 && install)
    throw missingSettings(
      server,
      missing.map(
        ({ setting, variable }) => `The setting ${setting} (environment variable ${variable}) is missing.`,
      ),
    );
  if (option.kind === "mcpb") {
    const bundle = await openBundle({ ...opening, location: option.source }, context, install);
    return { ...bundle, args: [...bundle.args, ...args], env: { ...bundle.env, ...env } };
  }
  const { source: url, integrity, dependencies } = locked;
  const { spec } = toNpmProgram({ type: "npm", url, integrity, executable: "" });
  return {
    locked,
    source: `${label} (${url} ${integrity})`,
    program: { kind: "npm", spec, integrity, dependencies },
    args,
    env,
    sandboxRequired: false,
  };
}

async function openBundle(
  { server, reference, locked, location, lock }: Opening & { readonly location: string },
  context: OpenContext,
  install: boolean,
): Promise<PackageProgram> {
  const label = `${locked.name}@${locked.version}`;
  const facts = { locked, source: `${label} (${locked.source} ${locked.integrity})`, sandboxRequired: false };
  const source = {
    label,
    location,
    folder: dirname(lock.file),
    integrity: locked.integrity,
    remembered: locked.provenance,
  };
  const folder = await installBundle(source, context, install);
  if (folder === undefined) return { ...facts, program: { kind: "absent" }, args: [], env: {} };
  // The document of an official server is not the manifest of its bundle.
  const isOwn = reference.kind === "mcpb";
  const manifest = await manifestOf(folder, label, isOwn ? (locked.metadata ?? "") : undefined);
  if (manifest === undefined) throw changedDocument(label);
  if (isOwn) checkNamed(locked, manifest, server);
  if (isOwn && install) await keepManifest(folder, context);
  const requires = mcpbRequirements(manifest);
  await checkRequires({ os: requires.os }, { server });
  checkNode(requires.runtime.node, label, server);
  // A plan or an audit needs no settings.
  const { command, args, env } = toBundleProgram(manifest, folder, context.variables ?? {}, {
    server,
    isChecked: install,
  });
  const program = { kind: "file", command, args: [], folder } as const;
  return { ...facts, program, args, env, cwd: folder, python: requires.runtime.python };
}

async function programOf(
  source: PackageSource,
  { dependencies }: LockedPackage,
  context: PackageContext,
  install: boolean,
): Promise<PackageProgram["program"]> {
  if (source.type === "npm") {
    const { spec, bin } = toNpmProgram(source);
    return { kind: "npm", spec, bin, integrity: source.integrity, dependencies };
  }
  const found = install ? await installPackage(source, context) : await findPackageFile(source, context);
  if (found === undefined) return { kind: "absent" };
  const { command, args, folder } = found;
  return { kind: "file", command, args, folder };
}

async function documentOf(
  locked: LockedPackage,
  context: LockedContext,
  install: boolean,
): Promise<Uint8Array> {
  const { metadata: hash, name, version } = locked;
  const expected = hash === undefined ? undefined : parseIntegrity(hash);
  if (hash === undefined || expected === undefined)
    throw new PortolanError(
      "FILE_INVALID",
      `portolan.lock has no hash of the metadata of ${name}@${version}.`,
      {
        hint: incompleteLockHint(context.server, locked),
      },
    );
  const stored = await readDocument(hash, context);
  if (stored !== undefined) return stored;
  if (!install || context.fetchDocument === undefined)
    throw new PortolanError("INSTALL_FAILED", `The metadata of ${name}@${version} is not on this machine.`, {
      server: context.server,
      hint: `Install it: portolan install ${context.server ?? ""}`.trim(),
    });
  const bytes = await context.fetchDocument(locked);
  if (!sameIntegrity(integrityOf(bytes, expected.algorithm), expected))
    throw changedDocument(`${name}@${version}`);
  await keepDocument(bytes, context);
  return bytes;
}

/** Settings of the package with a default value, by their environment variables. */
function defaultsOf({ mcp }: PackageMetadata): Record<string, string> {
  const { schema, env } = mcp.configuration ?? {};
  const properties = isObject(schema) && isObject(schema.properties) ? Object.entries(schema.properties) : [];
  return Object.fromEntries(
    properties.flatMap(([name, property]) => {
      const value = isObject(property) ? property.default : undefined;
      if (value === undefined || value === null) return [];
      return [[variableOf(name, env), settingText(value)]];
    }),
  );
}
