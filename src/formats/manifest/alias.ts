// Aliases of servers: the check of an alias, and aliases for servers with other names.

import { createHash } from "node:crypto";

/** Tool names have at most 64 characters for every model provider; this leaves a third of them to the tool. */
export const MAX_ALIAS = 40;
export const ALIAS_PATTERN: string = `^[A-Za-z0-9_][A-Za-z0-9_-]{0,${MAX_ALIAS - 1}}$`;

const ALIAS = new RegExp(ALIAS_PATTERN);
const HASH_LENGTH = 8;
const CHARACTERS = 'Use only the letters A to Z and a to z, digits, "_" and "-", and do not begin with "-"';

/** The error of an alias, and a hint with a legal one. Undefined for a legal alias. */
export function aliasProblem(alias: string): { readonly message: string; readonly hint: string } | undefined {
  if (isLegalAlias(alias)) return undefined;
  if (alias === "") return { message: "the alias is empty", hint: `${CHARACTERS}.` };
  const shown = JSON.stringify(alias.length > 60 ? `${alias.slice(0, 57)}...` : alias);
  const fixed = alias
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9_-]+/g, "_")
    .replace(/^[-_]+|[-_]+$/g, "")
    .slice(0, MAX_ALIAS);
  const example = fixed === "" ? "" : `, for example ${JSON.stringify(fixed)}`;
  if (alias.length > MAX_ALIAS)
    return {
      message: `alias ${shown} is longer than ${MAX_ALIAS} characters`,
      hint: `Use at most ${MAX_ALIAS} of the letters A to Z and a to z, digits, "_" and "-"${example}.`,
    };
  if (alias.startsWith("-"))
    return {
      message: `alias ${shown} starts with "-"`,
      hint: `Start it with a letter, a digit or "_"${example}.`,
    };
  return {
    message: `alias ${shown} contains characters that tool names cannot have`,
    hint: `${CHARACTERS}${example}.`,
  };
}

export function isLegalAlias(name: string): boolean {
  return ALIAS.test(name);
}

/** Replaces illegal characters. A name that is too long, or that has no legal character, gets a hash of the whole name. */
export function toAlias(name: string): string {
  if (isLegalAlias(name)) return name;
  const readable = name
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9_-]+/g, "_")
    .replace(/^[-_]+|[-_]+$/g, "");
  if (readable !== "" && readable.length <= MAX_ALIAS) return readable;
  return withHash(readable === "" ? "server" : readable, name);
}

/**
 * Returns a different alias for each different name. Legal names keep theirs; a name whose alias is taken gets a hash of itself.
 */
export function assignAliases(names: readonly string[]): string[] {
  const owners = new Map(names.filter(isLegalAlias).map((name) => [name, name]));
  return names.map((name) => {
    const plain = toAlias(name);
    const alias = (owners.get(plain) ?? name) === name ? plain : withHash(plain, name);
    owners.set(alias, name);
    return alias;
  });
}

function withHash(readable: string, name: string): string {
  const hash = createHash("sha256").update(name).digest("hex").slice(0, HASH_LENGTH);
  return `${readable.slice(0, MAX_ALIAS - HASH_LENGTH - 1)}_${hash}`;
}
