// Facts of an npm package: its package.json, and the hash of its archive.

import { isObject, MODERN_REVISION } from "../../model/index.ts";
import type { PackageValue } from "../../formats/package/index.ts";
import { parseUrl } from "../../base/net/urls.ts";
import { type Capabilities, defined, type Metadata, type PackageFacts, toModule } from "./facts.ts";

export interface NpmSource {
  /** The content of the package.json. */
  readonly manifest: unknown;
  /** The hash and size of the archive. */
  readonly hash: string;
  readonly size: number;
  /** The inventory of the running server; without it, the document says nothing about tools. */
  readonly capabilities?: Capabilities;
  readonly revision?: string;
  readonly permissions?: readonly string[];
  readonly variables?: readonly string[];
}

/** Texts of a stranger's package.json that are of another form are left out. */
export function factsOfNpm(source: NpmSource): PackageFacts {
  const manifest = isObject(source.manifest) ? source.manifest : {};
  const { name, version, description, engines } = manifest;
  const packageName = text(name) ?? "";
  const node = isObject(engines) ? text(engines["node"]) : undefined;
  const short = text(description);
  return {
    module: toModule(packageName),
    version: text(version),
    description: short !== undefined && short.length < 200 ? short : undefined,
    author: toAuthor(manifest["author"]),
    mcp: {
      version: source.revision ?? MODERN_REVISION,
      transport: ["stdio"],
      executable: binOf(manifest["bin"], packageName),
      capabilities: source.capabilities ?? {},
    },
    variables: source.variables ?? [],
    permissions: source.permissions ?? [],
    source: {
      ...{ type: "npm", url: `npm:${packageName}@${text(version) ?? ""}` },
      ...{ hash: source.hash, size: source.size },
    },
    requirements: node === undefined ? undefined : { runtime: { node } },
    metadata: toMetadata(manifest),
  };
}

/** The program of the package: the one that has its name, or the only one. */
function binOf(bin: unknown, packageName: string): string | undefined {
  const short = packageName.replace(/^@[^/]*\//, "");
  if (typeof bin === "string") return short;
  const names = isObject(bin) ? Object.keys(bin) : [];
  return names.includes(short) ? short : names.length === 1 ? names[0] : undefined;
}

/** `Alice <alice@example.com> (https://alice.dev)`, or an object. */
function toAuthor(author: unknown): PackageValue["author"] {
  const [, written, mail, page] =
    typeof author === "string" ? (/^([^<(]*)(?:<([^>]*)>)?\s*(?:\(([^)]*)\))?/.exec(author) ?? []) : [];
  const fields = isObject(author) ? author : { name: written?.trim(), email: mail, url: page };
  const name = text(fields["name"]);
  if (name === undefined) return undefined;
  const email = text(fields["email"]);
  return defined({
    name,
    email: email !== undefined && /^[^\s@]+@[^\s@]+$/.test(email) ? email : undefined,
    url: https(fields["url"]),
  });
}

function toMetadata({ keywords, license, homepage, bugs, repository }: Record<string, unknown>): Metadata {
  const words = Array.isArray(keywords)
    ? [...new Set(keywords.filter((word) => typeof word === "string" && word !== "" && word.length <= 50))]
    : [];
  return defined({
    keywords: words.length === 0 ? undefined : (words as string[]),
    license: text(license),
    homepage: https(homepage),
    bugs: https(isObject(bugs) ? bugs["url"] : bugs),
    repository: https(isObject(repository) ? repository["url"] : repository),
  });
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** `git+https://host/x.git` and `github:user/repo` become https URLs. */
function https(value: unknown): string | undefined {
  const written = text(value)
    ?.replace(/^git\+/, "")
    .replace(/^git:\/\//, "https://")
    .replace(/^(?:github:)?([\w.-]+\/[\w.-]+)$/, "https://github.com/$1")
    .replace(/\.git$/, "");
  const url = written === undefined ? undefined : parseUrl(written);
  return url?.protocol === "https:" ? written : undefined;
}
