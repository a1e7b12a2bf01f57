// Compares the packages that portolan.yaml names with the entries of portolan.lock.

import { shellWord } from "../../base/text/command-line.ts";
import { type Integrity, parseIntegrity } from "../../base/text/integrity.ts";
import { parseRange, satisfies } from "../../base/text/versions.ts";
import { PortolanError } from "../../errors/index.ts";
import type { PackageReference } from "../../model/index.ts";
import { readLock } from "../lock/lock-file.ts";
import type { Lock, LockedPackage } from "../lock/schema.ts";

/** A package as a server config names it: the reference, and the entry of the lock file. */
export interface LockedReference {
  readonly server: string;
  readonly reference: PackageReference;
  readonly lock: { readonly file: string; readonly server: string };
}

/** Finds the entry of the lock file. Throws if it is missing, or belongs to another package or range. */
export async function readLockedPackage({
  server,
  reference,
  lock,
}: LockedReference): Promise<LockedPackage> {
  const { servers } = await readLock(lock.file);
  const locked = Object.hasOwn(servers, lock.server) ? servers[lock.server]?.package : undefined;
  const problem = lockProblem(reference, locked, lock.server);
  if (locked !== undefined && problem === undefined) return locked;
  throw new PortolanError("VERSION_MISMATCH", `Server "${server}": ${problem?.message ?? ""}`, {
    server,
    hint: problem?.hint,
    data: { reason: "LOCK_MISMATCH", file: lock.file },
  });
}

/**
 * How to approve a package anew: `portolan update` changes only packages that have another version. It follows words such as
 * "add it again:".
 */
export function addAgain(server: string | undefined, written: string | undefined): string {
  const alias = server === undefined ? "<server>" : shellWord(server);
  const what = written === undefined ? "<package>" : shellWord(written);
  return `Copy the settings of ${alias} from portolan.yaml, because the first command deletes them. Then run in the folder of portolan.yaml: portolan remove ${alias}; portolan add ${what} --name ${alias}`;
}

/** The hint about a damaged entry. The lock file in version control may be missing or damaged, too. */
export function restoreHint(server: string | undefined, written?: string): string {
  return `Restore portolan.lock from version control. Or add the package again: ${addAgain(server, written)}`;
}

/** The hash of an entry of the lock file. */
export function requireIntegrity(integrity: string, label: string, server?: string): Integrity {
  const parsed = parseIntegrity(integrity);
  if (parsed !== undefined) return parsed;
  throw new PortolanError("INSTALL_FAILED", `portolan.lock has no valid hash of ${label}.`, {
    server,
    hint: restoreHint(server),
  });
}

function nameOf(reference: PackageReference): string {
  return reference.kind === "mcpb" ? `mcpb:${reference.location}` : reference.name;
}

/** The package as portolan.yaml names it. */
function writtenAs(reference: PackageReference): string {
  const name = nameOf(reference);
  return reference.kind === "mcpb" || reference.range === undefined ? name : `${name}@${reference.range}`;
}

/** Why the lock entry does not fit what the config says; undefined if it does. */
export function lockProblem(
  reference: PackageReference,
  locked: LockedPackage | undefined,
  server?: string,
): { readonly message: string; readonly hint: string } | undefined {
  const name = nameOf(reference);
  const written = writtenAs(reference);
  const again = addAgain(server, written);
  if (locked === undefined)
    return {
      message: `portolan.lock has no entry for ${name}.`,
      hint: restoreHint(server, written),
    };
  if (reference.kind === "mcpb") {
    if (locked.source === name) return undefined;
    return {
      message: `portolan.yaml names ${name}, but portolan.lock has ${locked.source}.`,
      hint: `To use the bundle of portolan.yaml, add it again: ${again}`,
    };
  }
  if (locked.name !== name)
    return {
      message: `portolan.yaml names the package ${name}, but portolan.lock has ${locked.name}.`,
      hint: `To use the package of portolan.yaml, add it again: ${again}`,
    };
  const { range } = reference;
  // A tag may have moved since; the lock keeps the version that was approved. A hash was compared when it was approved.
  const isRange = range !== undefined && !/^[a-z]/i.test(range) && parseRange(range) !== undefined;
  if (!isRange || range === locked.version || satisfies(locked.version, range)) return undefined;
  const update = server === undefined ? "portolan update" : `portolan update ${shellWord(server)}`;
  return {
    message: `portolan.yaml requires ${name}@${range}, but portolan.lock has the version ${locked.version}.`,
    hint: `Approve a version of that range: ${update}`,
  };
}

export interface LockDifference {
  readonly server: string;
  readonly message: string;
  readonly hint: string;
}

/** All differences between the packages of a workspace and its lock file. `isAll`: entries of other servers are differences too. */
export function compareWithLock(
  references: ReadonlyMap<string, PackageReference>,
  { servers }: Lock,
  { isAll }: { readonly isAll: boolean },
): LockDifference[] {
  const found = [...references].flatMap(([server, reference]) => {
    const locked = Object.hasOwn(servers, server) ? servers[server]?.package : undefined;
    const problem = lockProblem(reference, locked, server) ?? hashProblem(reference, locked, server);
    return problem === undefined ? [] : [{ server, ...problem }];
  });
  const others = Object.entries(servers).flatMap(([server, { package: locked }]) =>
    locked === undefined || references.has(server)
      ? []
      : [
          {
            server,
            message: `portolan.lock has ${locked.name}@${locked.version} for the server ${server}, but portolan.yaml has no package for this server.`,
            hint: `Add the package to portolan.yaml again, or delete "package" of ${server} from portolan.lock.`,
          },
        ],
  );
  return isAll ? [...found, ...others] : found;
}

function hashProblem(
  reference: PackageReference,
  locked: LockedPackage | undefined,
  server: string,
): Omit<LockDifference, "server"> | undefined {
  const hashes = [locked?.integrity, locked?.metadata ?? locked?.integrity];
  if (hashes.every((hash) => hash !== undefined && parseIntegrity(hash) !== undefined)) return undefined;
  return {
    message: `portolan.lock has no valid hash of ${locked?.name}@${locked?.version}.`,
    hint: restoreHint(server, writtenAs(reference)),
  };
}
