// Roots of trust for the check of a package's origin: Sigstore's root, the keys of the npm registry, and certificates of
// bundle signers. The usual root is part of Portolan, so that no network is needed; files that a workspace names replace it.

import { createPublicKey, type KeyObject } from "node:crypto";
import { resolve } from "node:path";
import { readLimited } from "../../base/files/limited-read.ts";
import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import { Diagnostics, readJson, ROOT } from "../../formats/document/index.ts";
import { list, map, anyValue, object, text, type Value } from "../../formats/schema-builder/index.ts";
import { type Certificate, parseCertificates } from "./certificate.ts";
import { NPM_KEYS, SIGSTORE_ROOT } from "./trust-root-data.ts";

export interface NpmKey {
  readonly id: string;
  /** `npm:signatures` or `npm:attestations`. */
  readonly usage: string;
  readonly publicKey: KeyObject;
  readonly validFrom?: Date;
  readonly validTo?: Date;
}

export interface Trust {
  /** trusted_root.json of Sigstore. */
  readonly sigstoreRoot: Readonly<Record<string, unknown>>;
  /** The name of the keys' owner, as the lock file remembers it. */
  readonly npmSigner: string;
  readonly npmKeys: readonly NpmKey[];
  /** Roots and single certificates of bundle signers. There are none by default. */
  readonly certificates: readonly Certificate[];
}

/** A file that a workspace names, with its content. */
export interface TrustFile {
  readonly file: string;
  readonly content: string;
}

export interface TrustFiles {
  /** trusted_root.json, as Sigstore publishes it. */
  readonly sigstoreRoot?: TrustFile;
  /** keys.json, as the npm registry publishes it to Sigstore's root. */
  readonly npmKeys?: TrustFile;
  /** Certificates in PEM form. */
  readonly certificates?: readonly TrustFile[];
}

/** Larger than any root. */
const MAX_BYTES = 1024 * 1024;

const DATES = object("", { start: text(), end: text() }, { open: true });

const KEYS = object(
  "Signing keys of an npm registry.",
  {
    keys: list(
      "List of keys.",
      object(
        "Signing key.",
        {
          keyId: text("ID of the key, as signatures name it.").required(),
          keyUsage: text("Purpose of the key: npm:signatures or npm:attestations.").required(),
          publicKey: object(
            "The key itself.",
            { rawBytes: text("Public key in DER format, as base64.").required(), validFor: DATES },
            { open: true, keys: "camelCase" },
          ).required(),
        },
        { open: true, keys: "camelCase" },
      ),
    ).required(),
  },
  { open: true },
);

/** The trust that is built in, with the files of a workspace in its place. Throws if a file is broken: it must not be ignored. */
export function createTrust({ sigstoreRoot, npmKeys, certificates = [] }: TrustFiles = {}): Trust {
  return {
    sigstoreRoot: sigstoreRoot === undefined ? SIGSTORE_ROOT : readSigstoreRoot(sigstoreRoot),
    npmSigner: npmKeys === undefined ? "npm" : `npm keys of ${npmKeys.file}`,
    npmKeys: toNpmKeys(npmKeys ?? { file: "the built-in keys", content: JSON.stringify(NPM_KEYS) }),
    certificates: certificates.flatMap(readCertificates),
  };
}

/** The paths of files that a workspace names in place of the built-in root and keys. */
export interface TrustPaths {
  readonly sigstoreRoot?: string;
  readonly npmKeys?: string;
  readonly certificates?: readonly string[];
}

/** Reads the files and creates the trust. Relative paths start at `folder`. */
export async function loadTrust(paths: TrustPaths, folder: string): Promise<Trust> {
  const load = async (file: string): Promise<TrustFile> => {
    try {
      return { file, content: (await readLimited(resolve(folder, file), MAX_BYTES)).toString("utf8") };
    } catch (error) {
      throw new PortolanError("FILE_FAILED", `${file} cannot be read: ${(error as Error).message}`, {
        cause: error,
        hint: "Correct its path in portolan.yaml.",
      });
    }
  };
  const { sigstoreRoot, npmKeys, certificates = [] } = paths;
  return createTrust({
    sigstoreRoot: sigstoreRoot === undefined ? undefined : await load(sigstoreRoot),
    npmKeys: npmKeys === undefined ? undefined : await load(npmKeys),
    certificates: await Promise.all(certificates.map(load)),
  });
}

function readSigstoreRoot({ file, content }: TrustFile): Trust["sigstoreRoot"] {
  const { root, diagnostics: syntax } = readJson(content, file);
  const diagnostics = new Diagnostics(file, syntax);
  const value = root && map("A trusted root.", anyValue()).read(root, { diagnostics, folder: "." });
  if (value === undefined) throw broken(file, diagnostics.sorted());
  for (const name of ["tlogs", "certificateAuthorities", "ctlogs"])
    if (!Array.isArray(value[name]))
      diagnostics.add(ROOT, `${name} is not a list, so this is not a trusted root of Sigstore`);
  if (diagnostics.hasErrorIn(ROOT)) throw broken(file, diagnostics.sorted());
  return value;
}

function toNpmKeys({ file, content }: TrustFile): NpmKey[] {
  const { root, diagnostics: syntax } = readJson(content, file);
  const diagnostics = new Diagnostics(file, syntax);
  const value = root && KEYS.read(root, { diagnostics, folder: "." });
  if (value === undefined) throw broken(file, diagnostics.sorted());
  return value.keys.map((key, index) => {
    try {
      return toNpmKey(key);
    } catch (error) {
      diagnostics.add(ROOT, `keys[${index}] cannot be read: ${(error as Error).message}`);
      throw broken(file, diagnostics.sorted());
    }
  });
}

function toNpmKey({ keyId, keyUsage, publicKey }: Value<typeof KEYS>["keys"][number]): NpmKey {
  const { rawBytes, validFor } = publicKey;
  return {
    id: keyId,
    usage: keyUsage,
    publicKey: createPublicKey({ key: Buffer.from(rawBytes, "base64"), format: "der", type: "spki" }),
    validFrom: toDate(validFor?.start),
    validTo: toDate(validFor?.end),
  };
}

function toDate(written: string | undefined): Date | undefined {
  const date = written === undefined ? undefined : new Date(written);
  if (date !== undefined && Number.isNaN(date.getTime()))
    throw new Error("its validity contains an invalid date");
  return date;
}

function readCertificates({ file, content }: TrustFile): Certificate[] {
  const { certificates, problems } = parseCertificates(content);
  const [problem] = problems;
  if (problem !== undefined)
    throw new PortolanError("FILE_INVALID", `${file}: ${problem}`, {
      hint: "Write certificates in PEM form: -----BEGIN CERTIFICATE-----.",
    });
  return certificates;
}

function broken(file: string, diagnostics: readonly Diagnostic[]): PortolanError {
  const [first] = diagnostics;
  const place = first?.line === undefined ? "" : `:${first.line}:${first.column ?? 1}`;
  return new PortolanError("FILE_INVALID", `${file}${place}: ${first?.message ?? "it cannot be read"}`, {
    hint: "Download the file from its publisher again.",
    data: { problems: diagnostics },
  });
}
