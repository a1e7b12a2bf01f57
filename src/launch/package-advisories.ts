// Advisories at the start of a package: a known vulnerability warns or refuses, by its severity and the policy of the workspace.

import { parseIntegrity } from "../base/text/integrity.ts";
import { PortolanError } from "../errors/index.ts";
import { PACKAGE_POLICY_DEFAULTS } from "../model/index.ts";
import type { LockedPackage } from "../packages/index.ts";
import { type AssessedAdvisory, assessAdvisories, cachedAdvisories } from "../registry/index.ts";
import type { LaunchRequest } from "./prepare.ts";

/** Uses the stored index of the registry, and renews an old one in the background. A dry run only reports. */
export async function checkAdvisories(locked: LockedPackage, request: LaunchRequest): Promise<void> {
  const { registry } = locked;
  const { server, context, dryRun = false } = request;
  if (registry === undefined) return;
  const found = await assess(locked, registry, request);
  for (const one of found) {
    if (one.action === "refuse" && !dryRun)
      throw new PortolanError(
        "VERSION_VULNERABLE",
        `Server "${server}" was not started: ${messageOf(locked, one)}.`,
        {
          server,
          hint: `${hintFor(request)}. The policy is packages.advisories in portolan.yaml.`,
          data: { advisory: one.advisory.id, severity: one.advisory.severity },
        },
      );
    reportOne(locked, one, request);
  }
  if (dryRun) return;
  const { maxAgeMs = PACKAGE_POLICY_DEFAULTS.advisories.maxAgeMs } = context?.packagePolicy?.advisories ?? {};
  const token = async (): Promise<string | undefined> => context?.registryToken?.(registry);
  context?.indexRenewal?.begin(registry, { maxAgeMs, token }, async () => {
    for (const one of await assess(locked, registry, request)) reportOne(locked, one, request);
  });
}

async function assess(
  { name, version, integrity }: LockedPackage,
  registry: string,
  { context }: LaunchRequest,
): Promise<readonly AssessedAdvisory[]> {
  const hash = parseIntegrity(integrity)?.digest.toString("hex");
  const found = await cachedAdvisories(registry, { name, version, hashes: hash === undefined ? [] : [hash] });
  return assessAdvisories(found, context?.packagePolicy?.advisories);
}

/** Reports an advisory once. A server that runs already is not stopped; its next start is refused. */
function reportOne(locked: LockedPackage, one: AssessedAdvisory, request: LaunchRequest): void {
  const { server, context, report = () => {} } = request;
  const key = JSON.stringify([server, locked.version, one.advisory.id]);
  if (context?.warnedAdvisories.has(key) === true) return;
  context?.warnedAdvisories.add(key);
  const severity = one.action === "refuse" ? "error" : one.action === "warn" ? "warning" : "info";
  const message = messageOf(locked, one);
  report({ code: "VERSION_VULNERABLE", severity, server, message, hint: hintFor(request) });
}

function messageOf({ name, version }: LockedPackage, { advisory }: AssessedAdvisory): string {
  return `${name}@${version} has a known vulnerability: ${advisory.id} (${advisory.severity}), ${advisory.title}`;
}

function hintFor({ server }: LaunchRequest): string {
  return `See what an update changes: portolan update ${server} --dry-run`;
}
