// Assets of the console: the files that the build made, in memory, with their compressed forms and cache headers.

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { HttpRequest, HttpResponse } from "../gateway/index.ts";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
};

const ENCODINGS = [
  { name: "br", suffix: ".br" },
  { name: "gzip", suffix: ".gz" },
] as const;

/** No inline script, no other host, and no text that becomes HTML or code. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** `frameOrigin` is the only host of frames: the one that shows apps. */
export function securityHeaders(frameOrigin?: string): Readonly<Record<string, string>> {
  const frames = frameOrigin === undefined ? "" : `; frame-src ${frameOrigin}`;
  return { ...OTHER_HEADERS, "content-security-policy": `${POLICY}${frames}` };
}

const OTHER_HEADERS = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
} as const;

interface Asset {
  readonly type: string;
  readonly etag: string;
  /** By encoding; "" is the plain form. */
  readonly forms: ReadonlyMap<string, Buffer>;
}

/** By path, such as `/` and `/assets/main-1a2b.js`. */
export type Assets = ReadonlyMap<string, Asset>;

/** Empty when the console was not built. */
export async function loadAssets(folder: string | undefined = findFolder()): Promise<Assets> {
  if (folder === undefined) return new Map();
  const names = (await readdir(folder, { recursive: true })).filter((name) => extname(name) in TYPES);
  const loaded = await Promise.all(
    names.map(async (name) => {
      const file = join(folder, name);
      const plain = await readFile(file);
      const forms = new Map([["", plain]]);
      for (const { name: encoding, suffix } of ENCODINGS)
        if (existsSync(file + suffix)) forms.set(encoding, await readFile(file + suffix));
      const hash = createHash("sha256").update(plain).digest("base64url").slice(0, 22);
      const path = `/${name.split(sep).join("/")}`;
      const type = TYPES[extname(name)] ?? "application/octet-stream";
      return [path === "/index.html" ? "/" : path, { type, etag: `"${hash}"`, forms }] as const;
    }),
  );
  return new Map(loaded);
}

export function sendAsset(
  request: HttpRequest,
  response: HttpResponse,
  path: string,
  asset: Asset,
  frameOrigin: string | undefined,
): void {
  const accepted = request.headers["accept-encoding"] ?? "";
  const encoding = ENCODINGS.find(({ name }) => accepted.includes(name) && asset.forms.has(name))?.name ?? "";
  const body = asset.forms.get(encoding) ?? Buffer.alloc(0);
  // Names of assets contain their hash, so that they never change.
  const cache = path.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-cache";
  const headers = {
    ...securityHeaders(frameOrigin),
    "cache-control": cache,
    etag: asset.etag,
    vary: "accept-encoding",
  };
  if (request.headers["if-none-match"] === asset.etag) {
    response.writeHead(304, headers);
    response.end();
    return;
  }
  response.writeHead(200, {
    ...headers,
    "content-type": asset.type,
    "content-length": body.length,
    ...(encoding === "" ? {} : { "content-encoding": encoding }),
  });
  response.end(request.method === "HEAD" ? undefined : body);
}

/** Beside the built code, one folder above it, or in dist/ when the sources run. */
function findFolder(): string | undefined {
  return ["./console/", "../console/", "../../dist/console/"]
    .map((place) => fileURLToPath(new URL(place, import.meta.url)))
    .find((folder) => existsSync(join(folder, "index.html")));
}
