// MCPB bundles: read before a person approves them, and started from the lock file later. Only the signed part of a file is read.

import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { readLimited } from "../../base/files/limited-read.ts";
import { isHttpUrl } from "../../base/net/urls.ts";
import { integrityOf, parseIntegrity, sameIntegrity, toSri } from "../../base/text/integrity.ts";
import { PortolanError } from "../../errors/index.ts";
import { type McpbManifest, mcpbProgram, mcpbSettings, parseMcpbManifest } from "../../formats/mcpb/index.ts";
import {
  defaultStoreRoot,
  downloadNew,
  findFile,
  installFile,
  readZipFile,
  verifyFile,
  type Verified,
} from "../../install/index.ts";
import type { Certificate } from "../provenance/certificate.ts";
import { checkMcpbSignature, type McpbSignatureCheck, subjectOf } from "../provenance/mcpb-signature.ts";
import type { RememberedProofs } from "../provenance/proof.ts";
import { type DocumentOptions, keepDocument } from "./documents.ts";
import { requireIntegrity } from "./check-lock.ts";
import type { VerifyOptions } from "./install-package.ts";
import type { PackageContext } from "./types.ts";

const MANIFEST_NAME = "manifest.json";
const MAX_MANIFEST_BYTES = 1024 * 1024;
const MAX_BUNDLE_BYTES = 256 * 1024 * 1024;

/** A bundle that a person can approve. */
export interface Bundle {
  readonly manifest: McpbManifest;
  /** The manifest as it is in the bundle, for `keepDocument`. */
  readonly document: Buffer;
  /** The hash of the whole file, as SRI. */
  readonly integrity: string;
  readonly size: number;
  readonly signature: Exclude<McpbSignatureCheck, { state: "invalid" }>;
}

export interface BundleOptions extends Pick<PackageContext, "root" | "signal" | "onProgress"> {
  /** The folder that a relative path starts from. */
  readonly folder: string;
  readonly trusted?: readonly Certificate[];
  readonly now?: Date;
}

/** Reads a bundle whose hash is not known yet. Its signature is verified before anything else. */
export async function readBundle(location: string, options: BundleOptions): Promise<Bundle> {
  const { folder, trusted = [], now = new Date(), signal, onProgress } = options;
  const path = isHttpUrl(location) ? await fetchNew(location, options) : resolve(folder, location);
  let bytes: Buffer;
  try {
    bytes = await readLimited(path, MAX_BUNDLE_BYTES);
  } catch (error) {
    throw bundleError(location, `it cannot be read: ${(error as Error).message}`, error);
  }
  signal?.throwIfAborted();
  onProgress?.({ what: `reading ${location}` });
  const signature = checkMcpbSignature(bytes, { trusted, now });
  if (signature.state === "invalid") throw bundleError(location, signature.reason);
  const document = await readZipFile(signature.archive, MANIFEST_NAME, MAX_MANIFEST_BYTES).catch(
    (error: unknown) => {
      throw bundleError(location, (error as Error).message, error);
    },
  );
  if (document === undefined) throw bundleError(location, `it has no ${MANIFEST_NAME}`);
  return {
    manifest: parseBundleManifest(document, `${location}/${MANIFEST_NAME}`),
    document,
    integrity: toSri(integrityOf(bytes)),
    size: bytes.length,
    signature,
  };
}

async function fetchNew(url: string, { root, signal, onProgress }: BundleOptions): Promise<string> {
  const partials = join(root ?? (await defaultStoreRoot()), "files", "partial");
  const what = `downloading ${url}`;
  onProgress?.({ what });
  const { file } = await downloadNew({
    ...{ url, partials, signal, maxBytes: MAX_BUNDLE_BYTES },
    onBytes: (bytes) => onProgress?.({ what, bytes }),
  });
  return file;
}

export function parseBundleManifest(document: Uint8Array, label: string): McpbManifest {
  const { manifest, diagnostics } = parseMcpbManifest(Buffer.from(document).toString("utf8"), label);
  if (manifest !== undefined) return manifest;
  const first = diagnostics.find(({ severity }) => severity === "error");
  const place = first?.line === undefined ? "" : `:${first.line}:${first.column ?? 1}`;
  throw new PortolanError("FILE_INVALID", `${label}${place}: ${first?.message ?? "it is not valid"}`, {
    hint: "Report this to the author of the bundle.",
    data: { diagnostics },
  });
}

export interface BundleSource {
  readonly label: string;
  /** A path relative to `folder`, or an http(s) URL. */
  readonly location: string;
  readonly folder: string;
  /** The hash of the whole file, as SRI. */
  readonly integrity: string;
  readonly size?: number;
  /** The proofs of the lock file. */
  readonly remembered?: RememberedProofs;
}

/** Installs a bundle with a known hash. Returns the folder with its files; undefined if it is missing and `install` is false. */
export async function installBundle(
  source: BundleSource,
  context: PackageContext,
  install: boolean,
): Promise<string | undefined> {
  const { label, location, folder } = source;
  const root = context.root ?? (await defaultStoreRoot());
  const integrity = requireIntegrity(source.integrity, `the bundle ${label}`, context.server);
  const slice = (bytes: Buffer): Buffer => {
    const check = checkMcpbSignature(bytes, { trusted: [], now: new Date() });
    if (check.state === "invalid") throw bundleError(label, check.reason);
    refuseOtherSigner(source, check);
    return check.archive;
  };
  const content = { kind: "bundle", program: MANIFEST_NAME, slice } as const;
  const found = await findFile({ integrity, content, root });
  if (found !== undefined || !install) return found?.folder;
  const url = isHttpUrl(location) ? location : pathToFileURL(resolve(folder, location)).href;
  const urls = [url, ...(context.mirrors?.(source.integrity) ?? [])] as const;
  const { signal, onProgress, token } = context;
  const { size } = source;
  return (await installFile({ urls, integrity, size, content, root, signal, onProgress, token })).folder;
}

/** Compares every installed file of a bundle with its hash. Undefined if the bundle is not installed. */
export async function verifyBundle(
  source: Pick<BundleSource, "label" | "integrity">,
  { root, discard }: VerifyOptions,
): Promise<Verified | undefined> {
  return verifyFile({
    ...{
      integrity: requireIntegrity(source.integrity, `the bundle ${source.label}`),
      root: root ?? (await defaultStoreRoot()),
      discard,
    },
    content: { kind: "bundle", program: MANIFEST_NAME },
  });
}

/**
 * Certificates may have expired since the bundle was approved, and its hash is the approved one: only the name of the signer is
 * compared.
 */
function refuseOtherSigner(
  { label, remembered = [] }: BundleSource,
  check: Exclude<McpbSignatureCheck, { state: "invalid" }>,
): void {
  const known = remembered.find(({ kind }) => kind === "mcpb-signature")?.signer;
  const signer = check.state === "unsigned" ? undefined : check.signer;
  if (known === undefined || (signer !== undefined && subjectOf(signer) === subjectOf(known))) return;
  const now = signer === undefined ? "it is not signed now" : `it is signed by ${signer} now`;
  throw bundleError(label, `${now}; portolan.lock names ${known}`);
}

/** The manifest of an installed bundle. `expected` is its hash as SRI, if the lock file names it. */
export async function manifestOf(
  folder: string,
  label: string,
  expected: string | undefined,
): Promise<McpbManifest | undefined> {
  const bytes = await readFile(join(folder, MANIFEST_NAME));
  const hash = expected === undefined ? undefined : parseIntegrity(expected);
  if (hash !== undefined && !sameIntegrity(integrityOf(bytes, hash.algorithm), hash)) return undefined;
  return parseBundleManifest(bytes, `${label}/${MANIFEST_NAME}`);
}

/** Stores the manifest as the metadata document, for audits and updates. The server starts also without it. */
export async function keepManifest(folder: string, options: DocumentOptions): Promise<void> {
  await keepDocument(await readFile(join(folder, MANIFEST_NAME)), options).catch(() => undefined);
}

export interface BundleProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** The program of an unpacked bundle, with the settings that the server's variables have. */
export function toBundleProgram(
  manifest: McpbManifest,
  folder: string,
  variables: Readonly<Record<string, string>>,
  { server, isChecked }: { readonly server: string; readonly isChecked: boolean },
): BundleProgram {
  const { values, problems } = mcpbSettings(manifest, variables);
  const place = { platform: process.platform, folder, home: homedir() };
  const result = mcpbProgram(manifest, place, values);
  const wrong = [...problems, ...(result.ok ? [] : result.problems)];
  if (isChecked && wrong.length > 0) throw missingSettings(server, wrong);
  if (!result.ok) return { command: process.execPath, args: [], env: {} };
  const { command, args, env } = result.program;
  // The Node that runs Portolan is in the sandbox of every server.
  return { command: command === "node" ? process.execPath : command, args, env };
}

/** One sentence for each setting that is missing or wrong. */
export function missingSettings(server: string, problems: readonly string[]): PortolanError {
  const text = [...new Set(problems)].join(" ");
  return new PortolanError("CONFIG_INVALID", `Server "${server}" cannot start: ${text}`, {
    server,
    hint: "Set the named settings under env of the server in portolan.yaml.",
  });
}

function bundleError(label: string, why: string, cause?: unknown): PortolanError {
  return new PortolanError("INSTALL_FAILED", `The bundle ${label} cannot be used: ${why}.`, {
    cause,
    hint:
      cause === undefined
        ? "Ask the author of the bundle for a correct one."
        : "Check the path or the URL of the bundle.",
  });
}
