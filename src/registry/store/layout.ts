// The folder of a registry: fixed paths. Everything below `public/` may be served by any web server; `private/` may not.

import { join } from "node:path";
import { type Integrity, parseIntegrity } from "../../base/text/integrity.ts";

/** Paths from the URL of a registry, also of a static copy of `public/`. Clients rely on them. */
export const INDEX_PATH = "index.jsonl";

export function versionPath(integrity: string): string {
  return `versions/${fileName(required(integrity))}.json`;
}

export function filePath(integrity: string): string {
  return `files/${fileName(required(integrity))}`;
}

/** `sha256-<hex>`: the base64 of SRI has characters that file names must not have. */
export function fileName({ algorithm, digest }: Integrity): string {
  return `${algorithm}-${digest.toString("hex")}`;
}

/** The hash of a file name, or undefined for a name of another form. */
export function parseFileName(name: string): Integrity | undefined {
  const [, algorithm, hex] = /^(sha256|sha384|sha512)-([0-9a-f]{64,128})$/.exec(name) ?? [];
  return algorithm === undefined || hex === undefined ? undefined : parseIntegrity(`${algorithm}:${hex}`);
}

export interface Layout {
  readonly folder: string;
  readonly public: string;
  readonly index: string;
  readonly versions: string;
  readonly files: string;
  readonly key: string;
  readonly tokens: string;
  readonly counts: string;
  readonly stars: string;
  readonly quotas: string;
  readonly uploads: string;
}

export function layoutOf(folder: string): Layout {
  const [open, hidden] = [join(folder, "public"), join(folder, "private")];
  return {
    folder,
    public: open,
    index: join(open, INDEX_PATH),
    versions: join(open, "versions"),
    files: join(open, "files"),
    key: join(hidden, "key.pem"),
    tokens: join(hidden, "tokens.json"),
    counts: join(hidden, "counts.json"),
    stars: join(hidden, "stars.json"),
    quotas: join(hidden, "quotas.json"),
    uploads: join(hidden, "uploads"),
  };
}

function required(integrity: string): Integrity {
  const parsed = parseIntegrity(integrity);
  if (parsed === undefined) throw new TypeError(`${integrity} is not a hash`);
  return parsed;
}
