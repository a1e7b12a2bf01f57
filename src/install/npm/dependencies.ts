// The dependencies of an installed package as lines of a lock file, and the way back from the lines to npm's own lock file.

import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { PortolanError } from "../../errors/index.ts";
import type { Lock } from "./lock.ts";

const TOP = "node_modules/";
const ALIAS = "npm:";

/**
 * One line for each package beside `own`: its place below node_modules, its version and its hash. Packages inside of another
 * package have no hash of their own. The lines are the same on every platform: npm's list has the packages of all.
 */
export function dependenciesOf(lock: Lock, own: string): string[] {
  return [...lock]
    .flatMap(([place, { name, version, integrity, inBundle }]) => {
      if (place === TOP + own || version === undefined || integrity === undefined || inBundle) return [];
      const exact = name === undefined ? version : `${ALIAS}${name}@${version}`;
      return [`${place.slice(TOP.length)} ${exact} ${integrity.split(/\s+/)[0] ?? ""}`];
    })
    .sort();
}

/** A part of the name of a store record: equal for equal lines. */
export function hashOfDependencies(lines: readonly string[]): string {
  return createHash("sha256")
    .update([...lines].sort().join("\n"))
    .digest("hex");
}

interface OldEntry {
  readonly version: string;
  readonly integrity?: string;
  dependencies?: Record<string, OldEntry>;
}

/**
 * A lock file of npm with these packages and no others. Its format is the oldest one, which lists versions and hashes only: npm asks
 * the registry what each package depends on, and keeps the versions.
 */
export function toNpmLock(
  own: { readonly name: string; readonly version: string; readonly integrity?: string },
  lines: readonly string[],
): object {
  const top: Record<string, OldEntry> = { [own.name]: { version: own.version, integrity: own.integrity } };
  // A package comes before those inside of it, because its path is a prefix of theirs.
  for (const line of [...lines].sort()) {
    const [place = "", version = "", integrity] = line.split(" ");
    const path = place.split(`/${TOP}`);
    const name = path.pop() ?? "";
    let into = top;
    for (const step of path) {
      const around = into[step];
      if (around === undefined) throw broken(line);
      into = around.dependencies ??= {};
    }
    // With a hash, npm reads the dependencies of the package that has the alias as its name. Without one, it reads those of the real
    // package, and writes its hash, which `refuseOtherDependencies` compares.
    into[name] = { version, integrity: version.startsWith(ALIAS) ? undefined : integrity };
  }
  return { name: "portolan-store", lockfileVersion: 1, requires: true, dependencies: top };
}

/** Npm found other packages than the lines name: a package lists other dependencies now, or has another hash. */
export function refuseOtherDependencies(
  spec: string,
  wanted: readonly string[],
  found: readonly string[],
): void {
  const sorted = [...wanted].sort();
  if (isDeepStrictEqual(sorted, found)) return;
  const other = found.find((one) => !sorted.includes(one));
  const [place = "", version = ""] = (other ?? sorted.find((one) => !found.includes(one)) ?? "").split(" ");
  const before = sorted.find((one) => one.startsWith(`${place} `))?.split(" ")[1];
  if (other !== undefined && before === version) throw otherHash(spec, place, version);
  const now =
    other === undefined
      ? `npm did not find its dependency ${place} ${version}, which portolan.lock names`
      : `npm chose ${version} of its dependency ${place}, ${before === undefined ? "which portolan.lock does not name" : `but portolan.lock names ${before}`}`;
  throw new PortolanError("INSTALL_FAILED", `Portolan did not install ${spec}: ${now}.`, {
    hint: "Run the command again: the registry may not have answered all questions of npm. If it fails again, the registry now lists other dependencies of a package than before. If you trust them, lock them: run portolan remove and portolan add for the server.",
    data: { spec, part: place, reason: "DEPENDENCY_MISMATCH" },
  });
}

/** The dependency whose bytes npm refused, named by the hash in its message. */
export function refuseSwappedBytes(spec: string, wanted: readonly string[], reason: string): void {
  const line = wanted.find((one) => reason.includes(`wanted ${one.split(" ")[2] ?? ""} `));
  if (line === undefined) return;
  const [place = "", version = ""] = line.split(" ");
  throw otherHash(spec, place, version);
}

function otherHash(spec: string, part: string, version: string): PortolanError {
  return new PortolanError(
    "INSTALL_FAILED",
    `Portolan did not install ${spec}: its dependency ${part} ${version} has another hash than portolan.lock names.`,
    {
      hint: "Do not trust this package: a published version must never change. Report the change to the operator of the npm registry.",
      data: { spec, part, reason: "HASH_MISMATCH", permanent: true },
    },
  );
}

function broken(line: string): PortolanError {
  return new PortolanError(
    "FILE_INVALID",
    `portolan.lock lists the nested dependency ${line}, but not the package that contains it.`,
    {
      hint: "Restore portolan.lock from version control: git checkout portolan.lock.",
    },
  );
}
