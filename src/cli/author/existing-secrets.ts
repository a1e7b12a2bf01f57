// The secrets that a workspace lists already, and what a driver's own are called so that none is taken for another.

import { join, relative, sep } from "node:path";
import { envOfSlug, parseSecrets, slugOfEnv } from "../../formats/driver/index.ts";
import type { SecretEntry } from "../../model/index.ts";
import { folders, textOf } from "./existing-contracts.ts";
import { driverFolder } from "./identify.ts";
import { freeId } from "./names.ts";

export interface KnownSecrets {
  /** What the workspace itself says who may have. */
  readonly own: readonly SecretEntry[];
  /** Those of other drivers. */
  readonly others: readonly SecretEntry[];
}

/** Without those of the driver `id`, which are written anew. `listed` are those that were found in another way. */
export async function existingSecrets(
  folder: string,
  id: string,
  listed: readonly SecretEntry[],
): Promise<KnownSecrets> {
  const shared = join(folder, ".secrets");
  const places = [shared, ...(await folders(shared)), ...(await folders(join(folder, ".drivers")))];
  const read = await Promise.all(
    places.map(async (place) => {
      const file = join(place, "SECRETS.md");
      const text = await textOf(file);
      return text === undefined ? [] : parseSecrets(text, file).secrets;
    }),
  );
  const isIn = ({ origin }: SecretEntry, parent: string): boolean =>
    !relative(parent, origin.file).startsWith(`..${sep}`);
  const all = [...read.flat(), ...listed].filter((entry) => !isIn(entry, driverFolder(folder, id)));
  return {
    own: all.filter((entry) => isIn(entry, shared)),
    others: all.filter((entry) => !isIn(entry, shared)),
  };
}

export interface NamedSecret {
  /** The variable that the driver refers to it by. */
  readonly name: string;
  /** What the server gets it as. */
  readonly as: string;
  /** The entry that it is, where the workspace has one that these contracts may have. */
  readonly entry?: SecretEntry;
  /** Whose the name was. */
  readonly taken?: SecretEntry;
}

/**
 * Names for what a driver is given. One of the workspace's own is used when it is granted to all contracts; that of another driver
 * never is: under a name such as API_KEY each server means its own, and one must not get the other's.
 */
export class SecretNames {
  readonly #known: KnownSecrets;
  readonly #driver: string;
  readonly #contracts: readonly string[];
  readonly #used = new Set<string>();

  constructor(known: KnownSecrets, driver: string, contracts: readonly string[]) {
    this.#known = known;
    this.#driver = driver;
    this.#contracts = contracts;
  }

  take(wanted: string, as: string): NamedSecret {
    const plain = variableOf(wanted);
    const { own, others } = this.#known;
    const taken = [...own, ...others].find((entry) => namesOf(entry).has(plain));
    const granted = own.find((entry) => namesOf(entry).has(plain) && this.#isGranted(entry));
    if (granted !== undefined) return { name: plain, as, entry: granted };
    const first = taken === undefined ? plain : variableOf(`${this.#driver}_${wanted}`);
    const slug = freeId(slugOfEnv(first), (candidate) => this.#isFree(candidate));
    const name = envOfSlug(slug) ?? first;
    this.#used.add(name);
    return { name, as, taken };
  }

  #isFree(slug: string): boolean {
    const name = envOfSlug(slug) ?? "";
    const { own, others } = this.#known;
    return !this.#used.has(name) && ![...own, ...others].some((entry) => namesOf(entry).has(name));
  }

  #isGranted({ access }: SecretEntry): boolean {
    return this.#contracts.every((id) => access.bind.some((grant) => "tool" in grant && grant.tool === id));
  }
}

/** The variables that an entry stands for. */
function namesOf({ slug, envNames }: SecretEntry): ReadonlySet<string> {
  return new Set([envOfSlug(slug) ?? slug, ...envNames]);
}

/** As the names of secrets are written, whatever a server calls it. */
function variableOf(text: string): string {
  const name = text
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, "_")
    .replace(/^_+|_+$/g, "");
  return /^[A-Z]./.test(name) ? name : `MCP_${name || "VALUE"}`;
}
