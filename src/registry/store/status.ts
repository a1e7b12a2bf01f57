// Status of versions: deprecating, restoring and deleting them.

import { didYouMean, PortolanError } from "../../errors/index.ts";
import type { IndexVersion, RegistryIndex, VersionStatus } from "../catalog/types.ts";
import { availableVersions, tagsAfterDelete } from "../catalog/versions.ts";
import { satisfies } from "../../base/text/versions.ts";

export interface StatusChange {
  readonly status: VersionStatus;
  /** A version or a range; without it, all versions. Deleting needs an exact version or `*`. */
  readonly versions?: string;
  readonly message?: string;
}

export interface StatusResult {
  readonly packages: RegistryIndex["packages"];
  readonly changed: readonly string[];
}

const MAX_MESSAGE = 300;

/** A deleted version stays deleted: its number must never mean other content. */
export function changeStatus(
  { packages }: Pick<RegistryIndex, "packages">,
  name: string,
  { status, versions: wanted = "*", message }: StatusChange,
  now: Date,
): StatusResult {
  const before = Object.hasOwn(packages, name) ? packages[name] : undefined;
  if (before === undefined)
    throw new PortolanError("INPUT_INVALID", `The registry has no package ${name}.`, {
      hint:
        didYouMean(name, Object.keys(packages)) ?? "To find the name of a package: portolan search <words>",
      data: { status: 404 },
    });
  if (message !== undefined && message.length > MAX_MESSAGE)
    throw new PortolanError("INPUT_INVALID", `The message is longer than ${MAX_MESSAGE} characters.`, {
      hint: "Shorten the message.",
      data: { status: 422 },
    });
  const isWanted = (version: string): boolean =>
    wanted === "*" || version === wanted || satisfies(version, wanted);
  const matching = Object.keys(before.versions).filter(isWanted);
  if (matching.length === 0) throw noVersion(name, wanted, before.versions);
  if (status === "deleted" && wanted !== "*" && !Object.hasOwn(before.versions, wanted))
    throw new PortolanError(
      "INPUT_INVALID",
      `${wanted} is a range, but only an exact version can be unpublished.`,
      { hint: `Name one version: ${listed(matching)}.`, data: { status: 422 } },
    );
  const changed = matching.filter((version) => {
    const entry = before.versions[version];
    return entry?.status !== "deleted" && (entry?.status !== status || entry.message !== message);
  });
  if (changed.length === 0) return { packages, changed };
  const versions = { ...before.versions };
  for (const version of changed) {
    const { message: _message, ...kept } = versions[version] as IndexVersion;
    versions[version] = {
      ...kept,
      status,
      changedAt: now.toISOString(),
      ...(message === undefined ? {} : { message }),
    };
  }
  const tags = status === "deleted" ? tagsAfterDelete({ tags: before.tags, versions }) : before.tags;
  return { packages: { ...packages, [name]: { ...before, tags, versions } }, changed };
}

function listed(versions: readonly string[]): string {
  return `${versions.slice(0, 10).join(", ")}${versions.length > 10 ? ", …" : ""}`;
}

function noVersion(
  name: string,
  wanted: string,
  versions: Readonly<Record<string, IndexVersion>>,
): PortolanError {
  return new PortolanError("INPUT_INVALID", `${name} has no version ${wanted}.`, {
    hint:
      didYouMean(wanted, Object.keys(versions)) ??
      `Its versions are ${listed(availableVersions({ versions })) || "all unpublished"}.`,
    data: { status: 404 },
  });
}
