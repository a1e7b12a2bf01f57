// Parses how a config names a package of MCP servers: @user/name@range, io.github.user/name@version, or mcpb:<file or URL>.

import { isHttpUrl, parseUrl } from "../../base/net/urls.ts";
import { parseRange } from "../../base/text/versions.ts";

export type PackageReference =
  /** A package of a Portolan registry. `range` is a version, a range or a tag; absent: any version. */
  | { readonly kind: "package"; readonly name: string; readonly range?: string }
  /** A server of the official MCP registry API. */
  | { readonly kind: "official"; readonly name: string; readonly range?: string }
  /** A bundle: a path relative to the folder of the config, or an http(s) URL. */
  | { readonly kind: "mcpb"; readonly location: string };

const MAX_LENGTH = 2_000;
const PACKAGE_NAME = /^@[a-z0-9][a-z0-9-]*\/[a-z0-9][a-z0-9-]*$/;
/** A namespace is a reversed domain; private registries also have plain ones. */
const OFFICIAL_NAME = /^[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)*\/[a-zA-Z0-9._-]+$/;
/** A tag, or the beginning of a hash. */
const TAG = /^(?:[a-z][\w.-]*|[0-9a-f]{4,128})$/i;

export const PACKAGE_HINT = "Write @user/name@^1.0.0, io.github.user/name@1.2.0, or mcpb: and a file or URL.";

/** Returns the reason as a text if it is no such name. */
export function parsePackageReference(text: string): PackageReference | string {
  const shown = JSON.stringify(text.slice(0, 200));
  // oxlint-disable-next-line no-control-regex
  if (text.length > MAX_LENGTH || /[\0-\x1f]/.test(text)) return `${shown} is not the name of a package`;
  if (text.startsWith("mcpb:")) {
    const location = text.slice("mcpb:".length);
    if (location === "") return "mcpb: names no file";
    const url = parseUrl(location);
    if (/^[a-z][a-z0-9+.-]+:/i.test(location) && (url === undefined || !isHttpUrl(url)))
      return `${shown} is neither a file nor an https URL`;
    return { kind: "mcpb", location };
  }
  const at = text.indexOf("@", 1);
  const name = at === -1 ? text : text.slice(0, at);
  const range = at === -1 ? undefined : text.slice(at + 1).trim();
  if (range === "" || (range !== undefined && parseRange(range) === undefined && !TAG.test(range)))
    return `"${range}" is neither a version, a range nor a tag`;
  if (PACKAGE_NAME.test(name)) return { kind: "package", name, range };
  if (OFFICIAL_NAME.test(name)) return { kind: "official", name, range };
  return `${shown} is not the name of a package`;
}
