// Advisories at the start of a package: a known vulnerability warns or refuses, by its severity and the policy of the workspace.

import { parseIntegrity } from "../base/text/integrity.ts";
import { PortolanError } from "../errors/index.ts";
import type { LockedPackage } from "../packages/index.ts";
import { assessAdvisories, cachedAdvisories } from "../registry/index.ts";
import type { LaunchRequest } from "./prepare.ts";

/** Uses the stored index of the registry. A dry run only reports. */
export async function checkAdvisories(
  { name, version, registry, integrity }: LockedPackage,
  { server, context, report = () => {}, dryRun = false }: LaunchRequest,
): Promise<void> {
  if (registry === undefined) return;
  const hash = parseIntegrity(integrity)?.digest.toString("hex");
  const found = await cachedAdvisories(registry, { name, version, hashes: hash === undefined ? [] : [hash] });
  for (const { advisory, action } of assessAdvisories(found, context?.packagePolicy?.advisories)) {
    const message = `${name}@${version} has a known vulnerability: ${advisory.id} (${advisory.severity}), ${advisory.title}`;
    const hint = `See what an update changes: portolan update ${server} --dry-run`;
    if (action === "refuse" && !dryRun)
      throw new PortolanError("VERSION_VULNERABLE", `Server "${server}" was not started: ${message}.`, {
        server,
        hint: `${hint}. The policy is packages.advisories in portolan.yaml.`,
        data: { advisory: advisory.id, severity: advisory.severity },
      });
    const severity = action === "refuse" ? "error" : action === "warn" ? "warning" : "info";
    report({ code: "VERSION_VULNERABLE", severity, server, message, hint });
  }
}
