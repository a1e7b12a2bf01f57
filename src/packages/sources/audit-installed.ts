// Compares the installed files of a package with the hashes that the store recorded when it was installed. Uses no network.

import type { Verified } from "../../install/index.ts";
import { verifyBundle } from "./bundle.ts";
import { type LockedReference, readLockedPackage } from "./check-lock.ts";
import { readDocument } from "./documents.ts";
import { verifyPackageFiles, type VerifyOptions } from "./install-package.ts";
import { optionOf, parseServerDocument } from "./official.ts";
import { parseDocument, toPackageSource } from "./read-document.ts";

/** Undefined if the package, or its metadata, is not on this machine. */
export async function verifyLockedPackage(
  request: LockedReference,
  options: VerifyOptions = {},
): Promise<Verified | undefined> {
  const locked = await readLockedPackage(request);
  const { integrity, metadata = "", name, version, source, dependencies } = locked;
  const label = `${name}@${version}`;
  const { kind } = request.reference;
  if (kind === "mcpb") return verifyBundle({ label, integrity }, options);
  const bytes = await readDocument(metadata, options);
  if (bytes === undefined) return undefined;
  if (kind === "package")
    return verifyPackageFiles(toPackageSource(parseDocument(bytes, label)), { ...options, dependencies });
  const option = optionOf(parseServerDocument(bytes, label), source);
  if (option?.kind === "mcpb") return verifyBundle({ label, integrity }, options);
  const npm = { type: "npm", url: source, integrity, executable: "" } as const;
  return verifyPackageFiles(npm, { ...options, dependencies });
}
