// The origin of an npm package that the lock file names, checked before its files are installed. A start of an installed package needs
// no network.

import { parseIntegrity } from "../base/text/integrity.ts";
import { PortolanError } from "../errors/index.ts";
import { isPackageInstalled } from "../install/index.ts";
import { checkNpmOrigin, compareWithRemembered, loadTrust, type PackageProgram } from "../packages/index.ts";
import type { LaunchRequest } from "./prepare.ts";

/** `folder`: the one that files of `packages.trust` are relative to. */
export async function checkLockedOrigin(
  { locked, metadata, program }: PackageProgram,
  { server, context, signal, onLaunch, report = () => {} }: LaunchRequest,
  folder: string,
): Promise<void> {
  const { name, version, provenance: remembered = [] } = locked;
  if (program.kind !== "npm" || remembered.length === 0) return;
  const { spec, bin, dependencies } = program;
  const integrity = parseIntegrity(program.integrity);
  if (integrity === undefined || (await isPackageInstalled({ spec, bin, integrity, dependencies }))) return;
  onLaunch?.({ type: "progress", what: `checking the origin of ${name}@${version}`, server });
  const { trust: paths = {}, require: required = [] } = context?.packagePolicy ?? {};
  const trust = await loadTrust(paths, folder);
  const repository = metadata?.metadata.repository;
  const origin = await checkNpmOrigin({ spec, integrity }, { trust, repository, signal });
  if (origin.state === "unchecked" && !required.some((proof) => proof !== "audit")) {
    // The files must have the hash that was approved together with the signer.
    const message = `The origin of ${name}@${version} was not checked: ${origin.reason}.`;
    const hint =
      `Portolan still compares the hash of the package with portolan.lock. ${origin.hint ?? ""}`.trim();
    report({ code: "HTTP_ERROR", severity: "warning", server, message, hint });
    return;
  }
  const compared = compareWithRemembered(origin, remembered);
  if (compared.state !== "invalid") return;
  throw new PortolanError(
    "INSTALL_FAILED",
    `${name}@${version} has another origin than portolan.lock records: ${compared.reason}.`,
    {
      server,
      hint:
        origin.state === "unchecked" && origin.hint !== undefined
          ? origin.hint
          : "Do not install this version. Ask the author of the package, or the operator of the npm registry.",
      data: { reason: "ORIGIN_CHANGED", permanent: true },
    },
  );
}
