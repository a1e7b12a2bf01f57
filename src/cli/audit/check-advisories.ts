// Check of an audit for advisories and withdrawn versions: from the registries of the lock file, or from what is stored about them.

import { parseIntegrity } from "../../base/text/integrity.ts";
import { isPortolanError, type PortolanError } from "../../errors/index.ts";
import { advisoriesFor, assessAdvisories, openRegistry, type RegistryIndex } from "../../registry/index.ts";
import type { Cli } from "../context.ts";
import { clientOptions, registriesOf } from "../registry/options.ts";
import type { PackageSettings } from "../registry/settings.ts";
import type { AuditedPackage } from "./check-lock.ts";
import { type Finding, findingAt } from "./findings.ts";

export async function checkAdvisories(
  cli: Cli,
  packages: readonly AuditedPackage[],
  settings: PackageSettings,
  offline: boolean,
): Promise<Finding[]> {
  const options = await clientOptions(cli, settings);
  const urls = [...new Set(packages.flatMap(({ locked }) => locked.registry ?? []))];
  const indexes = new Map(
    await Promise.all(
      urls.map(async (url) => {
        const isSame = (one: { readonly url: string }): boolean =>
          one.url.replace(/\/$/, "") === url.replace(/\/$/, "");
        const known = settings.registries.find(isSame);
        // The variables name a registry that needs no entry in portolan.yaml.
        const token = registriesOf(cli, {}, settings).find(isSame)?.token ?? known?.token;
        const registry = openRegistry({ ...(known ?? { url }), token }, options);
        return [url, await readIndex(registry, offline)] as const;
      }),
    ),
  );
  return packages.flatMap((one) => {
    const found = one.locked.registry === undefined ? undefined : indexes.get(one.locked.registry);
    return found === undefined ? [] : checkOne(one, found, settings);
  });
}

interface ReadIndex {
  readonly index?: RegistryIndex;
  /** Why the newest index could not be read. */
  readonly problem?: PortolanError;
}

/** The newest index, or the stored one if the registry cannot be reached. */
async function readIndex(registry: ReturnType<typeof openRegistry>, offline: boolean): Promise<ReadIndex> {
  let problem: PortolanError | undefined;
  try {
    if (!offline) return { index: await registry.index() };
  } catch (error) {
    if (!isPortolanError(error)) throw error;
    // An index that is not trusted must not be replaced by an older one without a word.
    problem = error;
  }
  try {
    return { index: await registry.index({ offline: true }), problem };
  } catch (error) {
    if (!isPortolanError(error)) throw error;
    return { problem: problem ?? error };
  }
}

function checkOne(
  { server, locked }: AuditedPackage,
  { index, problem }: ReadIndex,
  { policy }: PackageSettings,
): Finding[] {
  const { name, version, integrity } = locked;
  // A server of the official registry API, which has no advisories. A registry of Portolan lists its files under another name.
  const isOfficial = !name.startsWith("@");
  if (isOfficial && index === undefined)
    return [
      findingAt(server, "not-checked", "note", {
        message: `The advisories of ${name}@${version} were not checked, because the API of the official MCP registry does not publish advisories.`,
      }),
    ];
  const notes =
    problem === undefined
      ? []
      : [
          findingAt(server, "not-checked", "warning", {
            message:
              index === undefined
                ? `The advisories of ${name}@${version} could not be checked: ${problem.message}`
                : `The advisories of ${name}@${version} could not be updated, so Portolan used the stored advisories of ${index.issuedAt.slice(0, 10)}: ${problem.message}`,
            hint: problem.hint,
          }),
        ];
  if (index === undefined) return notes;
  const entry = Object.hasOwn(index.packages, name) ? index.packages[name]?.versions[version] : undefined;
  const hash = parseIntegrity(integrity)?.digest.toString("hex");
  const advisories = advisoriesFor(index.advisories, name, version, hash === undefined ? [] : [hash]);
  return [
    ...notes,
    ...assessAdvisories(advisories, policy.advisories).map(({ advisory, action }) =>
      findingAt(server, "advisory", action === "refuse" ? "error" : action === "warn" ? "warning" : "note", {
        message: `${name}@${version} has a known vulnerability: ${advisory.id} (${advisory.severity}), ${advisory.title}.`,
        hint:
          advisory.patches ??
          `See whether there is a newer version: portolan update ${server.alias} --dry-run`,
      }),
    ),
    ...(!isOfficial && (entry === undefined || entry.status !== "active")
      ? [
          findingAt(server, "version-withdrawn", "warning", {
            message: `${name}@${version} ${entry === undefined ? "is no longer in the registry" : entry.status === "deleted" ? "was unpublished" : "is deprecated"}${entry?.message === undefined ? "." : `: ${entry.message}`}`,
            hint: `See whether there is a newer version: portolan update ${server.alias} --dry-run`,
          }),
        ]
      : []),
    ...(entry !== undefined && locked.metadata !== undefined && !sameHash(entry.integrity, locked.metadata)
      ? [
          findingAt(server, "document-invalid", "error", {
            message: `The metadata of ${name}@${version} in the registry${locked.registry === undefined ? "" : ` ${locked.registry}`} does not match portolan.lock.`,
            hint: "The registry or the lock file was changed. Compare portolan.lock with version control. If portolan.lock is unchanged, ask the operator of the registry: the metadata of a published version must not change.",
          }),
        ]
      : []),
  ];
}

function sameHash(a: string, b: string): boolean {
  const [first, second] = [parseIntegrity(a), parseIntegrity(b)];
  return first !== undefined && second !== undefined && first.digest.equals(second.digest);
}
