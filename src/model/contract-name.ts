// How contracts are named: by their id, or by `id@major` where several majors of one stand side by side.

import { parseVersion } from "./semver.ts";

/** What two versions of one contract or driver have in common: the name of what may take one another's place. */
export function majorKey({ id, version }: { readonly id: string; readonly version: string }): string {
  return `${id}@${parseVersion(version)?.major ?? version}`;
}

export function isNamed(one: { readonly id: string; readonly version: string }, name: string): boolean {
  return one.id === name || majorKey(one) === name;
}

/** The id in an `id@major`; what has no major is an id already. */
export function idIn(name: string): string {
  return name.replace(/@\d+$/, "");
}
