// Checks of a package before it starts: its metadata against the lock file, its transport, its sandbox, and its Node.js.

import { parseIntegrity, sameIntegrity } from "../../base/text/integrity.ts";
import { satisfies } from "../../base/text/versions.ts";
import { PortolanError } from "../../errors/index.ts";
import { type PackageMetadata, sandboxFromPermissions } from "../../formats/package/index.ts";
import type { LockedPackage } from "../lock/schema.ts";
import { restoreHint } from "./check-lock.ts";

export function changedDocument(label: string): PortolanError {
  return new PortolanError(
    "FORBIDDEN",
    `The metadata of ${label} is not the document that portolan.lock names: its hash differs.`,
    {
      hint: "The document or the lock file was changed. Compare portolan.lock with version control.",
      data: { reason: "HASH_MISMATCH" },
    },
  );
}

/** For an entry of the lock file that lacks a field: `portolan update` changes only packages that have a newer version. */
export function incompleteLockHint(server: string | undefined, { name, version }: LockedPackage): string {
  return restoreHint(server, `${name}@${version}`);
}

/** The lock file repeats facts of the document. A difference means that one of them was changed by hand. */
export function checkDocument(locked: LockedPackage, metadata: PackageMetadata, server: string): void {
  const { url = "", hash = "" } = metadata.source;
  const [written, declared] = [parseIntegrity(locked.integrity), parseIntegrity(hash)];
  const facts: readonly (readonly [string, boolean])[] = [
    ["name", locked.name === metadata.name],
    ["version", locked.version === metadata.version],
    ["source", locked.source === url],
    ["integrity", written !== undefined && declared !== undefined && sameIntegrity(written, declared)],
  ];
  const other = facts.find(([, same]) => !same)?.[0];
  if (other !== undefined) throw changedLock(locked, other, server);
}

/** A document is for the name and version that the lock file says. */
export function checkNamed(
  locked: LockedPackage,
  document: { readonly name: string; readonly version: string },
  server: string,
): void {
  if (document.name !== locked.name) throw changedLock(locked, "name", server);
  if (document.version !== locked.version) throw changedLock(locked, "version", server);
}

export function changedLock({ name, version }: LockedPackage, field: string, server: string): PortolanError {
  return new PortolanError(
    "FORBIDDEN",
    `The ${field} of ${name}@${version} in portolan.lock differs from the ${field} in its metadata.`,
    {
      server,
      hint: `The lock file was changed. ${restoreHint(server)}`,
      data: { reason: "LOCK_CHANGED", field },
    },
  );
}

/**
 * Portolan starts a package with stdio, whatever else it speaks. The metadata has no field for the port and path of the other
 * transports, so a package without stdio has no address.
 */
export function checkTransport({ mcp, name, version }: PackageMetadata, server: string): void {
  const { transport = [] } = mcp;
  if (transport.includes("stdio")) return;
  throw new PortolanError(
    "NOT_SUPPORTED",
    `${name}@${version} supports ${transport.join(", ")}, but not stdio. Its metadata names no URL, so Portolan cannot connect to it.`,
    {
      server,
      hint: "Start the server yourself, and write its url in place of package in portolan.yaml. Or ask its author to support stdio.",
    },
  );
}

/** A required sandbox of a kind that Portolan does not have. */
export function checkSandboxType({ security }: PackageMetadata, server: string): void {
  const result = sandboxFromPermissions(security);
  if (!result.ok)
    throw new PortolanError("NOT_SUPPORTED", `Server "${server}" cannot start: ${result.problem}.`, {
      server,
      hint: result.hint,
    });
}

export function checkNode(range: string | undefined, label: string, server: string): void {
  const here = process.versions.node;
  if (range === undefined || satisfies(here, range)) return;
  throw new PortolanError(
    "VERSION_MISMATCH",
    `${label} needs Node.js ${range}, but Portolan runs with Node.js ${here}.`,
    {
      server,
      data: { range, version: here },
      hint: "Run Portolan with a version of Node.js in that range.",
    },
  );
}
