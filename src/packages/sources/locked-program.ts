// The program of a package that the lock file names: its metadata document from the store, then its files, both compared with the
// lock.

import { parseIntegrity, sameIntegrity, integrityOf } from "../../base/text/integrity.ts";
import { satisfies } from "../../base/text/versions.ts";
import { PortolanError } from "../../errors/index.ts";
import { type PackageMetadata, variableOf } from "../../formats/package/index.ts";
import { checkRequires } from "../../install/index.ts";
import { isObject } from "../../model/index.ts";
import { type LockedReference, readLockedPackage } from "./check-lock.ts";
import type { LockedPackage } from "../lock/schema.ts";
import { keepDocument, readDocument } from "./documents.ts";
import { findPackageFile, installPackage, toNpmProgram } from "./install-package.ts";
import { parseDocument, toPackageSource } from "./read-document.ts";
import type { PackageContext, PackageSource } from "./types.ts";

export interface LockedContext extends Omit<PackageContext, "mirrors"> {
  /** URLs of further copies of a file, by the lock entry and the hash. */
  readonly mirrorsOf?: (locked: LockedPackage, integrity: string) => readonly string[];
  /** Fetches a metadata document that is not in the store. Its hash is checked afterwards. */
  readonly fetchDocument?: (locked: LockedPackage) => Promise<Uint8Array>;
}

/** The program of a package, for the launch of a server. */
export interface PackageProgram {
  readonly locked: LockedPackage;
  readonly metadata: PackageMetadata;
  /** Human-readable: name, version, where it came from, and its hash. */
  readonly source: string;
  /** How it is run: by npm's installer, which needs nothing of the store; or a program of the store. */
  readonly program:
    | { readonly kind: "npm"; readonly spec: string; readonly bin: string; readonly integrity: string }
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
  /** Default values of settings, as environment variables. */
  readonly env: Readonly<Record<string, string>>;
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
  const { server } = request;
  const locked = await readLockedPackage(request);
  const label = `${locked.name}@${locked.version}`;
  const metadata = parseDocument(await documentOf(locked, context, install), label);
  checkDocument(locked, metadata, server);
  checkTransport(metadata, server);
  const { os, arch, runtime } = metadata.requirements ?? {};
  await checkRequires({ os, arch }, { server });
  checkNode(runtime?.node, label, server);
  const source = toPackageSource(metadata);
  return {
    locked,
    metadata,
    source: `${label} (${source.url} ${source.integrity})`,
    program: await programOf(
      source,
      { ...context, mirrors: (hash) => context.mirrorsOf?.(locked, hash) ?? [] },
      install,
    ),
    args: metadata.mcp.args ?? [],
    env: defaultsOf(metadata),
    python: runtime?.python,
    sandboxRequired: metadata.security.sandbox?.required === true,
  };
}

/** The metadata of a locked package, without its files. */
export async function openLockedMetadata(
  request: LockedReference,
  context: LockedContext = {},
): Promise<PackageMetadata> {
  const locked = await readLockedPackage(request);
  const bytes = await documentOf(locked, context, true);
  const metadata = parseDocument(bytes, `${locked.name}@${locked.version}`);
  checkDocument(locked, metadata, request.server);
  return metadata;
}

async function programOf(
  source: PackageSource,
  context: PackageContext,
  install: boolean,
): Promise<PackageProgram["program"]> {
  if (source.type === "npm") {
    const { spec, bin } = toNpmProgram(source);
    return { kind: "npm", spec, bin, integrity: source.integrity };
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
        hint: "Restore portolan.lock from version control, or approve the package again: portolan update.",
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
    throw new PortolanError(
      "FORBIDDEN",
      `The metadata of ${name}@${version} is not the document that portolan.lock names: its hash differs.`,
      {
        hint: "Somebody changed the document or the lock file. Compare portolan.lock with version control.",
        data: { reason: "HASH_MISMATCH" },
      },
    );
  await keepDocument(bytes, context);
  return bytes;
}

/** The lock file repeats facts of the document. A difference means that one of them was changed by hand. */
function checkDocument(locked: LockedPackage, metadata: PackageMetadata, server: string): void {
  const { url = "", hash = "" } = metadata.source;
  const [written, declared] = [parseIntegrity(locked.integrity), parseIntegrity(hash)];
  const facts: readonly (readonly [string, boolean])[] = [
    ["name", locked.name === metadata.name],
    ["version", locked.version === metadata.version],
    ["source", locked.source === url],
    ["integrity", written !== undefined && declared !== undefined && sameIntegrity(written, declared)],
  ];
  const other = facts.find(([, same]) => !same)?.[0];
  if (other === undefined) return;
  throw new PortolanError(
    "FORBIDDEN",
    `The ${other} of ${locked.name}@${locked.version} in portolan.lock is not the one of its metadata.`,
    {
      server,
      hint: "Somebody changed the lock file. Restore it from version control: git checkout portolan.lock.",
      data: { reason: "LOCK_CHANGED", field: other },
    },
  );
}

function checkTransport({ mcp, name, version }: PackageMetadata, server: string): void {
  const { transport = [] } = mcp;
  if (transport.includes("stdio")) return;
  throw new PortolanError(
    "NOT_SUPPORTED",
    `${name}@${version} speaks ${transport.join(", ")} and not stdio, so Portolan cannot start it.`,
    { server, hint: "Start it yourself, and give its url in place of package." },
  );
}

function checkNode(range: string | undefined, label: string, server: string): void {
  const here = process.versions.node;
  if (range === undefined || satisfies(here, range)) return;
  throw new PortolanError(
    "VERSION_MISMATCH",
    `${label} needs Node.js ${range}, and this is Node.js ${here}.`,
    {
      server,
      data: { range, version: here },
      hint: "Run Portolan with a version of Node.js in that range.",
    },
  );
}

/** Settings of the package with a default value, by their environment variables. */
function defaultsOf({ mcp }: PackageMetadata): Record<string, string> {
  const { schema, env } = mcp.configuration ?? {};
  const properties = isObject(schema) && isObject(schema.properties) ? Object.entries(schema.properties) : [];
  return Object.fromEntries(
    properties.flatMap(([name, property]) => {
      const value = isObject(property) ? property.default : undefined;
      if (value === undefined || value === null) return [];
      return [[variableOf(name, env), typeof value === "string" ? value : JSON.stringify(value)]];
    }),
  );
}
