// Compares the packages that portolan.yaml names with the entries of portolan.lock.

import { shellWord } from "../../base/text/command-line.ts";
import { parseIntegrity } from "../../base/text/integrity.ts";
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

/** The commands that approve a package anew: `portolan update` changes only packages that have another version. */
export function addAgain(server: string | undefined, written: string): string {
  const alias = server === undefined ? "<server>" : shellWord(server);
  return `portolan remove ${alias}; portolan add ${shellWord(written)} --name ${alias}`;
}

/** Why the lock entry does not fit what the config says; undefined if it does. */
export function lockProblem(
  reference: PackageReference,
  locked: LockedPackage | undefined,
  server?: string,
): { readonly message: string; readonly hint: string } | undefined {
  const name = reference.kind === "mcpb" ? `mcpb:${reference.location}` : reference.name;
  const written =
    reference.kind === "mcpb" || reference.range === undefined ? name : `${name}@${reference.range}`;
  const again = addAgain(server, written);
  if (locked === undefined)
    return {
      message: `portolan.lock has no entry for ${name}.`,
      hint: `Restore portolan.lock from version control, or add the package again: ${again}`,
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
    const problem = lockProblem(reference, locked, server) ?? hashProblem(locked);
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

function hashProblem(locked: LockedPackage | undefined): Omit<LockDifference, "server"> | undefined {
  const hashes = [locked?.integrity, locked?.metadata ?? locked?.integrity];
  if (hashes.every((hash) => hash !== undefined && parseIntegrity(hash) !== undefined)) return undefined;
  return {
    message: `portolan.lock has no valid hash of ${locked?.name}@${locked?.version}.`,
    hint: "Restore portolan.lock from version control: git checkout portolan.lock.",
  };
}
