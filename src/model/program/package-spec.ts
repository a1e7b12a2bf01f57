// Parses a package spec: a name with a version, range or tag; never a folder, an archive, a URL or a repository.

import { isHttpUrl, parseUrl } from "../../base/net/urls.ts";
import { parseRange } from "../../base/text/versions.ts";

export interface PackageSpec {
  readonly name: string;
  /** A version, a range or a tag. Default: `latest`. */
  readonly range: string;
  /** `name@range`, and the registry if one is named; the key in the store. */
  readonly spec: string;
  /** Replaces the registry that npm is configured with. */
  readonly registry?: string;
}

const MOST_CHARACTERS = 214;
const NAME = /^(?:@[a-z0-9~][\w.~-]*\/)?[a-z0-9~][\w.~-]*$/i;
const TAG = /^[a-z][\w.~-]*$/i;

const REGISTRY = " --registry=";

/** Returns the reason as a text if it is no such spec. npm's option for a registry may follow. */
export function parsePackageSpec(text: string): PackageSpec | string {
  const split = text.indexOf(REGISTRY);
  if (split === -1) return parseName(text);
  const found = parseName(text.slice(0, split));
  if (typeof found === "string") return found;
  const written = text.slice(split + REGISTRY.length);
  const url = parseUrl(written);
  if (url === undefined || !isHttpUrl(url)) return `"${written}" is not the URL of a registry`;
  // The spec is shown and stored, so that it must not contain credentials.
  if (url.username !== "" || url.password !== "")
    return "the registry URL contains credentials, which belong into .npmrc";
  return { ...found, spec: `${found.spec}${REGISTRY}${url.href}`, registry: url.href };
}

/** How to check the registry that npm uses for a package. */
export function registryHint({ name, registry }: Pick<PackageSpec, "name" | "registry">): string {
  if (registry !== undefined) return `Check the URL of the registry in the config of the server: ${registry}`;
  const [scope] = /^@[^/]+(?=\/)/.exec(name) ?? [];
  const command =
    scope === undefined
      ? "npm config get registry"
      : `npm config get ${scope}:registry. If it prints undefined: npm config get registry`;
  return `Check the registry setting of npm in your home folder (Portolan ignores the .npmrc of other folders): ${command}`;
}

function parseName(text: string): PackageSpec | string {
  const at = text.indexOf("@", 1);
  const name = at === -1 ? text : text.slice(0, at);
  const range = (at === -1 ? "" : text.slice(at + 1).trim()) || "latest";
  if (/^[./~\\]|\.(?:tgz|tar|tar\.gz)$/i.test(name) || /[:\\]/.test(text))
    return `"${text}" is a file, a URL or a repository, not the name of a package`;
  if (name.includes("/") && !name.startsWith("@"))
    return `"${text}" is a repository, not the name of a package`;
  if (!NAME.test(name) || name.length > MOST_CHARACTERS) return `"${text}" is not the name of a package`;
  if (parseRange(range) === undefined && !TAG.test(range))
    return `"${range}" is neither a version, a range nor a tag`;
  return { name, range, spec: `${name}@${range}` };
}
