// The two names of a secret: `stripe-api-key` in an inventory is `STRIPE_API_KEY` for a program.

import type { SecretEntry } from "../../../model/index.ts";

export const SLUG_PATTERN = "^([a-z][a-z0-9-]*[a-z0-9]/)?[a-z][a-z0-9-]*[a-z0-9]$";
export const ENV_PATTERN = "^[A-Z_][A-Z0-9_]*$";

/** The slug of a variable. */
export function slugOfEnv(name: string): string {
  return name.toLowerCase().replaceAll("_", "-");
}

/** The variable of a slug. Returns undefined for a slug with a namespace, which has no variable. */
export function envOfSlug(slug: string): string | undefined {
  return slug.includes("/") ? undefined : slug.toUpperCase().replaceAll("-", "_");
}

/** Names under which the value of an entry is looked up, in order. The part before a slash only groups slugs. */
export function variablesOf({ slug, envNames }: Pick<SecretEntry, "slug" | "envNames">): string[] {
  const own = slug.replace(/^.*\//, "").replaceAll("-", "_").toUpperCase();
  return [...new Set([...envNames, own, slug])];
}

/** The entry of a variable: the one that lists the variable, or else the one with its slug. */
export function findSecret(entries: readonly SecretEntry[], name: string): SecretEntry | undefined {
  const slug = slugOfEnv(name);
  return (
    entries.find(({ envNames }) => envNames.includes(name)) ?? entries.find((entry) => entry.slug === slug)
  );
}
