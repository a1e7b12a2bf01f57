// Reads a stored metadata document, and finds the files of a package for one platform in it.

import { parseIntegrity, toSri } from "../../base/text/integrity.ts";
import { PortolanError } from "../../errors/index.ts";
import { type PackageMetadata, parsePackage } from "../../formats/package/index.ts";
import type { PackageSource } from "./types.ts";

/** Reads the document of a package. Its hash was checked before. */
export function parseDocument(bytes: Uint8Array, label: string): PackageMetadata {
  const text = Buffer.from(bytes).toString("utf8");
  // Permissions that this machine does not know open nothing.
  const { metadata, diagnostics } = parsePackage(text, label, {
    mode: "strict",
    permissions: permissionsIn(text),
  });
  if (metadata !== undefined) return metadata;
  const first = diagnostics.find(({ severity }) => severity === "error");
  throw new PortolanError("FILE_INVALID", `The metadata of ${label} is not valid: ${first?.message ?? ""}`, {
    hint: "Report this to the operator of the registry.",
    data: { diagnostics },
  });
}

function permissionsIn(text: string): string[] {
  try {
    const { security } = JSON.parse(text) as { security?: { permissions?: unknown } };
    const permissions = security?.permissions;
    return Array.isArray(permissions) ? permissions.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

/** The platform of this machine, as Node.js names it. */
export function thisPlatform(): string {
  return `${process.platform}-${process.arch}`;
}

/** The file for a platform, or the one for all platforms. */
export function toPackageSource(metadata: PackageMetadata, platform: string = thisPlatform()): PackageSource {
  const { name, version, mcp, source, requirements } = metadata;
  const { type, url, hash, size, platforms = {} } = source;
  const own = Object.hasOwn(platforms, platform) ? platforms[platform] : undefined;
  const written = own === undefined ? hash : own.hash;
  const integrity = written === undefined ? undefined : parseIntegrity(written);
  if (type === undefined || url === undefined || integrity === undefined)
    throw new PortolanError(
      "INSTALL_FAILED",
      `${name}@${version} has no valid hash, so Portolan does not download it.`,
      {
        hint: "Ask the publisher of the package to add the hash, which portolan pack computes.",
      },
    );
  const { node, python } = requirements?.runtime ?? {};
  return {
    type,
    url: own?.url ?? url,
    integrity: toSri(integrity),
    // The size belongs to the file for all platforms.
    size: own === undefined ? size : undefined,
    executable: mcp.executable ?? "",
    runtime: node !== undefined ? "node" : python !== undefined ? "python" : undefined,
  };
}
