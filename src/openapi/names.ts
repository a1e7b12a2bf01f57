// Names that every client and every model provider accepts: letters, digits, "_" and "-", at most 64 characters.

import { createHash } from "node:crypto";
import { MAX_ALIAS } from "../formats/manifest/index.ts";
import { FORBIDDEN } from "./limits.ts";

const MAX_NAME = 64;

/** Replaces all other characters with "_". Returns the fallback if no character remains. */
export function legalName(text: string, fallback: string): string {
  const legal = text
    .slice(0, 2_000)
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .replace(/[^A-Za-z0-9_-]+/g, "_")
    .replace(/^[-_]+|[-_]+$/g, "");
  const name = legal === "" ? fallback : legal;
  return shorten(FORBIDDEN.has(name) ? `${name}_` : name, text);
}

/** The name, with a number if it is taken. Adds the result to `taken`. */
export function uniqueName(name: string, taken: Set<string>): string {
  let unique = name;
  for (let count = 2; taken.has(unique); count += 1) {
    const suffix = `_${count}`;
    unique = `${name.slice(0, MAX_NAME - suffix.length)}${suffix}`;
  }
  taken.add(unique);
  return unique;
}

/** `Swagger Petstore` as `swagger-petstore`: the name of a server, usable as its alias. */
export function serverName(title: string): string {
  return (
    legalName(title.toLowerCase(), "api").replaceAll("_", "-").slice(0, MAX_ALIAS).replace(/-+$/, "") || "api"
  );
}

/** `PETSTORE_TOKEN` from the name of a server and the kind of the secret. */
export function secretName(...parts: readonly string[]): string {
  const name = parts
    .map((part) => legalName(part, "API").replaceAll("-", "_").toUpperCase())
    .join("_")
    .replace(/_+/g, "_");
  return /^[0-9]/.test(name) ? `API_${name}` : name;
}

/** The hash distinguishes long names with the same beginning. */
function shorten(name: string, source: string): string {
  if (name.length <= MAX_NAME) return name;
  const hash = createHash("sha256").update(source).digest("hex").slice(0, 8);
  return `${name.slice(0, MAX_NAME - 9).replace(/[-_]+$/, "")}_${hash}`;
}
