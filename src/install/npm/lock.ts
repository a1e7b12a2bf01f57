// Reads npm's lock file before anything is downloaded: only packages of a registry, with hashes, are accepted.

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isHttpUrl } from "../../base/net/urls.ts";
import { PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";

export interface Locked {
  /** The name of the package, if its folder has another one. */
  readonly name: string | undefined;
  readonly version: string | undefined;
  readonly integrity: string | undefined;
  readonly resolved: string | undefined;
  readonly link: boolean;
  /** Bundled in another package, whose hash covers it. */
  readonly inBundle: boolean;
  readonly bin: ReadonlyMap<string, string>;
}

/** Packages by their place, such as `node_modules/a/node_modules/b`. */
export type Lock = ReadonlyMap<string, Locked>;

export async function readLock(path: string): Promise<Lock> {
  const value: unknown = JSON.parse(await readFile(path, "utf8"));
  const packages = isObject(value) && isObject(value.packages) ? value.packages : {};
  return new Map(
    Object.entries(packages)
      .filter((entry): entry is [string, Record<string, unknown>] => entry[0] !== "" && isObject(entry[1]))
      .map(([place, found]) => [place, toLocked(found)]),
  );
}

function toLocked(found: Readonly<Record<string, unknown>>): Locked {
  const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
  const bins = isObject(found.bin) ? Object.entries(found.bin) : [];
  return {
    name: text(found.name),
    version: text(found.version),
    integrity: text(found.integrity),
    resolved: text(found.resolved),
    link: found.link !== undefined && found.link !== false,
    inBundle: found.inBundle === true,
    bin: new Map(bins.filter((entry): entry is [string, string] => typeof entry[1] === "string")),
  };
}

/**
 * Refuses other dependencies: a local folder would be copied into the store and shown to the server, and a git
 * repository would run its own build scripts. `isFixed`: versions and hashes were given to npm, which then fetches them from the
 * registry and does not write from where.
 */
export function refuseOthers(
  { spec, name }: { readonly spec: string; readonly name: string },
  lock: Lock,
  { isFixed = false }: { readonly isFixed?: boolean } = {},
): void {
  for (const [place, found] of lock) {
    const why = whyNot(place, found, isFixed);
    if (why === undefined) continue;
    const part = place.replace(/^.*node_modules\//, "");
    const isOwn = place === `node_modules/${name}`;
    const which = isOwn ? "the package itself" : `its dependency "${part}"`;
    const ask = isOwn ? "" : " Ask the author of the package to publish that dependency to npm.";
    throw new PortolanError("INSTALL_FAILED", `Portolan did not install ${spec}: ${which} ${why}.`, {
      hint: `Portolan installs npm packages only from a registry or an http(s) URL, and only with an integrity hash.${ask}`,
      data: { spec, part, reason: "EPART", permanent: true },
    });
  }
}

function whyNot(
  place: string,
  { link, resolved, integrity, inBundle }: Locked,
  isFixed: boolean,
): string | undefined {
  if (link || !place.startsWith("node_modules/")) return "is a link to a folder of this machine";
  if (resolved === undefined)
    return inBundle || (isFixed && integrity !== undefined) ? undefined : "has no source URL";
  if (/^git\b|^(?:github|gitlab|bitbucket|gist|ssh):/i.test(resolved)) return "is a git repository";
  if (!isHttpUrl(resolved)) return "is a file or folder of this machine";
  return integrity === undefined ? "has no integrity hash" : undefined;
}

/** Whether everything that npm installed is in the lock file with the same hash. */
export function isAsAgreed(agreed: Lock, there: Lock): boolean {
  return [...there].every(([place, { integrity }]) => {
    const known = agreed.get(place);
    return known !== undefined && known.integrity === integrity;
  });
}

/**
 * The key of a store entry: the same packages in the same places. The installed optional packages depend on the
 * platform.
 */
export function keyOf(lock: Lock): string {
  const lines = [...lock].map(([place, { version, integrity }]) => [place, version, integrity]);
  const content = [process.platform, process.arch, lines.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1))];
  return createHash("sha512").update(JSON.stringify(content)).digest("hex").slice(0, 64);
}

/** The path of a program that a dependency provides. */
export function binAmong(lock: Lock, wanted: string): string | undefined {
  for (const [place, { bin }] of lock) {
    const path = bin.get(wanted);
    if (path !== undefined && place.lastIndexOf("node_modules/") === 0) return `${place}/${path}`;
  }
  return undefined;
}
