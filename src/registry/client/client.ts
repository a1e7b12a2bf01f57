// Client of one registry: reads the signed index and the files it names, and publishes.

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { integrityOf, parseIntegrity, sameIntegrity } from "../../base/text/integrity.ts";
import { isHttpUrl, parseUrl, publicPart } from "../../base/net/urls.ts";
import { type Diagnostic, didYouMean, PortolanError } from "../../errors/index.ts";
import { type PackageMetadata, parsePackage } from "../../formats/package/index.ts";
import { isObject, type JsonObject } from "../../model/index.ts";
import { advisoriesFor } from "../catalog/advisory.ts";
import { createSearch, type SearchOptions, type SearchPage } from "../catalog/search.ts";
import { MAX_INDEX_BYTES, type VerifiedIndex, verifyIndex } from "../catalog/signed-index.ts";
import type { Advisory, IndexPackage, IndexVersion, RegistryIndex } from "../catalog/types.ts";
import { requireVersion } from "../catalog/versions.ts";
import { fileName, filePath, INDEX_PATH, versionPath } from "../store/layout.ts";
import { createTransfer } from "./transfer.ts";
import { checkTrust, openTrust } from "./trust.ts";

const MAX_VERSION_BYTES = 2 * 1024 * 1024;
const MAX_ANSWER_BYTES = 1024 * 1024;

/** One registry of the settings. */
export interface RegistrySettings {
  /** An http(s) URL, or the path of a folder with a copy of the registry's `public/`. */
  readonly url: string;
  /** If given, only these scopes come from this registry, and from no other. */
  readonly scopes?: readonly string[];
  /** A secret reference such as `${REGISTRY_TOKEN}`. */
  readonly token?: string;
  /** The public key, if it is known beforehand. Otherwise the first one that is seen is remembered. */
  readonly key?: string;
}

export interface RegistryOptions {
  /** The folder for what is remembered about registries. */
  readonly stateFolder: string;
  /** Resolves the token's secret reference. */
  readonly resolveSecret?: (reference: string) => Promise<string | undefined>;
  readonly now?: () => Date;
  readonly signal?: AbortSignal;
}

export interface FoundPackage {
  readonly registry: string;
  readonly name: string;
  readonly version: string;
  readonly entry: IndexVersion;
  readonly package: IndexPackage;
  readonly metadata: PackageMetadata;
  /** The document itself. Its hash as SRI is `entry.integrity`. */
  readonly document: Uint8Array;
  readonly advisories: readonly Advisory[];
  /** URLs of the files that the registry hosts, by their hash as SRI. */
  readonly files: Readonly<Record<string, string>>;
}

export interface RegistryClient {
  readonly url: string;
  readonly label: string;
  readonly settings: RegistrySettings;
  /** The verified index. One request; with `offline` none, and an expired index is accepted. */
  index(options?: { readonly offline?: boolean }): Promise<RegistryIndex>;
  has(name: string): Promise<boolean>;
  find(name: string, wanted?: string): Promise<FoundPackage>;
  search(query: string, options?: SearchOptions): Promise<SearchPage>;
  publish(text: string, options?: PublishRequest): Promise<JsonObject>;
  upload(file: string, hash: string): Promise<void>;
  /** The URL of an uploaded file. */
  fileUrl(hash: string): string;
  deprecate(
    name: string,
    change: { versions?: string; message?: string; undo?: boolean },
  ): Promise<JsonObject>;
  unpublish(name: string, change: { versions?: string; message?: string }): Promise<JsonObject>;
  publishAdvisory(text: string): Promise<JsonObject>;
  /** Gives or takes back the star of the token's account. */
  star(name: string, options?: { readonly undo?: boolean }): Promise<JsonObject>;
  /** Counts a download. A registry that is a folder counts nothing. */
  countDownload(name: string, version: string): Promise<void>;
  /** Forgets the key and the index. Returns false if the registry was unknown. */
  forget(): Promise<boolean>;
}

export interface PublishRequest {
  readonly tag?: string;
  /** The name of the document in messages. */
  readonly file?: string;
}

export function openRegistry(settings: RegistrySettings, options: RegistryOptions): RegistryClient {
  const { now = () => new Date(), signal } = options;
  const url = toRegistryUrl(settings.url);
  const { token } = settings;
  const transfer = createTransfer(
    url,
    token === undefined ? undefined : async () => (await options.resolveSecret?.(token)) ?? token,
  );
  const { label } = transfer;
  const trust = openTrust(options.stateFolder, url.href);
  let current: Promise<VerifiedIndex> | undefined;

  const load = async (): Promise<VerifiedIndex> => {
    const known = await trust.read();
    const etag = known?.cached === undefined ? undefined : known.before.etag;
    const check = { label, url: url.href, now: now(), pinned: settings.key, before: known?.before };
    const answer = await transfer.send(INDEX_PATH, {
      headers: etag === undefined ? {} : { "if-none-match": etag },
      maxBytes: MAX_INDEX_BYTES,
      signal,
    });
    if (answer.status === 304 && known?.cached !== undefined) {
      checkTrust(known.cached, check);
      await trust.touch();
      return known.cached;
    }
    const verified = verifyIndex(answer.bytes, transfer.urlOf(INDEX_PATH));
    checkTrust(verified, check);
    if (
      verified.sha256 !== known?.before.sha256 ||
      known.cached === undefined ||
      answer.etag !== known.before.etag
    )
      await trust.remember(verified, answer.bytes, answer.etag);
    else await trust.touch();
    return verified;
  };
  /** One request for each run of a command. A failure is not kept. */
  const verified = (): Promise<VerifiedIndex> => {
    current ??= load().catch((error: unknown) => {
      current = undefined;
      throw error;
    });
    return current;
  };
  const loadOffline = async (): Promise<VerifiedIndex> => {
    const known = await trust.read();
    if (known?.cached !== undefined) return known.cached;
    throw new PortolanError(
      "FILE_FAILED",
      `The index of the registry ${label} is not stored on this machine.`,
      {
        hint: "Run the command once without --offline, while this machine can reach the registry.",
      },
    );
  };
  const index: RegistryClient["index"] = async ({ offline = false } = {}) =>
    (await (offline ? loadOffline() : verified())).index;

  const post = async (path: string, body: string): Promise<JsonObject> => {
    const headers = { "content-type": "application/json" };
    const { bytes } = await transfer.send(path, {
      method: "POST",
      headers,
      body,
      maxBytes: MAX_ANSWER_BYTES,
      signal,
    });
    current = undefined;
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    return isObject(value) ? value : {};
  };
  const apiPath = (name: string, action = ""): string => `api/registry/${encodeURIComponent(name)}${action}`;

  return {
    ...{ url: url.href, label, settings, index },
    has: async (name) => Object.hasOwn((await index()).packages, name),
    find: async (name, wanted) => {
      const { packages, advisories } = await index();
      const found = Object.hasOwn(packages, name) ? packages[name] : undefined;
      if (found === undefined)
        throw new PortolanError("PACKAGE_NOT_FOUND", `The registry ${label} has no package ${name}.`, {
          hint:
            didYouMean(name, Object.keys(packages)) ??
            "To find the name of a package: portolan search <words>",
        });
      const version = requireVersion(name, found, wanted);
      const entry = found.versions[version] as IndexVersion;
      const path = versionPath(entry.integrity);
      const { bytes } = await transfer.send(path, { maxBytes: MAX_VERSION_BYTES, signal });
      const metadata = readVersion(bytes, { name, version, entry, source: transfer.urlOf(path), now: now() });
      const files = Object.fromEntries(
        (entry.files ?? []).map((hash) => [hash, transfer.urlOf(filePath(hash))]),
      );
      return {
        ...{ registry: label, name, version, entry, package: found, metadata, document: bytes, files },
        advisories: advisoriesFor(advisories, name, version, hashesOf(metadata, entry)),
      };
    },
    search: async (query, search) => createSearch(await index()).search(query, search),
    publish: async (text, { tag, file } = {}) => {
      const { draft, diagnostics } = parsePackage(text, file ?? "package.json", { mode: "draft" });
      if (draft.name === undefined) throw withoutName(diagnostics);
      const query = new URLSearchParams({
        ...(tag === undefined ? {} : { tag }),
        ...(file === undefined ? {} : { file }),
      });
      return post(apiPath(draft.name, query.size === 0 ? "" : `?${query.toString()}`), text);
    },
    upload: async (file, hash) => {
      const parsed = parseIntegrity(hash);
      if (parsed === undefined)
        throw new PortolanError("INPUT_INVALID", `${hash} is not a hash.`, {
          hint: "Pass the hash as SRI, such as sha256-… in base64.",
        });
      const { size } = await stat(file);
      await transfer.send(`api/files/${fileName(parsed)}`, {
        method: "PUT",
        headers: { "content-type": "application/octet-stream", "content-length": String(size) },
        body: createReadStream(file),
        maxBytes: MAX_ANSWER_BYTES,
        signal,
      });
    },
    fileUrl: (hash) => transfer.urlOf(filePath(hash)),
    deprecate: (name, change) => post(apiPath(name, "/deprecate"), JSON.stringify(change)),
    unpublish: (name, change) => post(apiPath(name, "/unpublish"), JSON.stringify(change)),
    publishAdvisory: (text) => post("api/advisories", text),
    star: (name, { undo = false } = {}) => post(apiPath(name, "/star"), JSON.stringify({ undo })),
    countDownload: async (name, version) => {
      if (!transfer.isFolder)
        await post(apiPath(name, `/download?version=${encodeURIComponent(version)}`), "");
    },
    forget: () => trust.forget(),
  };
}

/** Checks the hash first; then the document must be valid, and be the version that the index names. */
function readVersion(
  bytes: Buffer,
  {
    name,
    version,
    entry,
    source,
    now,
  }: { name: string; version: string; entry: IndexVersion; source: string; now: Date },
): PackageMetadata {
  const expected = parseIntegrity(entry.integrity);
  if (expected === undefined || !sameIntegrity(integrityOf(bytes), expected))
    throw new PortolanError(
      "FORBIDDEN",
      `${source} is not the file that the signed index names: its hash differs from the hash in the index.`,
      {
        hint: "The file was changed or damaged. Do not install it; report it to the operator of the registry.",
      },
    );
  const { metadata, diagnostics } = parsePackage(bytes.toString("utf8"), source, {
    mode: "strict",
    // Permissions that only the registry knows open nothing here.
    permissions: permissionsIn(bytes),
    now,
  });
  if (metadata === undefined)
    throw new PortolanError("FILE_INVALID", `${source} is not valid: ${diagnostics[0]?.message ?? ""}`, {
      hint: "Report this to the operator of the registry.",
      data: { diagnostics },
    });
  if (metadata.name !== name || metadata.version !== version)
    throw new PortolanError(
      "FORBIDDEN",
      `${source} is ${metadata.name}@${metadata.version}, not ${name}@${version}.`,
      {
        hint: "Report this to the operator of the registry.",
      },
    );
  return metadata;
}

function permissionsIn(bytes: Buffer): string[] {
  try {
    const { security } = JSON.parse(bytes.toString("utf8")) as { security?: { permissions?: unknown } };
    const permissions = security?.permissions;
    return Array.isArray(permissions) ? permissions.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

function hashesOf({ source }: PackageMetadata, { files = [] }: IndexVersion): string[] {
  const written = [source.hash, ...Object.values(source.platforms ?? {}).map(({ hash }) => hash), ...files];
  return written.flatMap((hash) =>
    hash === undefined ? [] : (parseIntegrity(hash)?.digest.toString("hex") ?? []),
  );
}

/** The URL of a registry as its settings or a lock file write it: an http(s) URL, or the path of a folder. */
export function toRegistryUrl(written: string): URL {
  const url = isHttpUrl(written) || written.startsWith("file:") ? parseUrl(written) : undefined;
  if (url !== undefined && url.username + url.password + url.search + url.hash !== "")
    throw new PortolanError(
      "CONFIG_INVALID",
      `The URL of the registry ${publicPart(url)} contains a user name, a password, a query or a fragment.`,
      {
        hint: "Remove them from the URL. Pass a token with PORTOLAN_REGISTRY_TOKEN, or with the field token of the registry in portolan.yaml.",
      },
    );
  if (url !== undefined) return url;
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(written))
    throw new PortolanError(
      "CONFIG_INVALID",
      `${JSON.stringify(written.slice(0, 200))} is not the URL of a registry.`,
      {
        hint: "Write an http(s) URL, or the path of a folder.",
      },
    );
  return pathToFileURL(written);
}

/** The error about the name, or else the first one: without a name, there is no address to publish at. */
function withoutName(diagnostics: readonly Diagnostic[]): PortolanError {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const found = errors.find(({ path }) => path === "/name") ?? errors[0];
  const place = found?.file === undefined ? "" : `${found.file}:${found.line ?? 1}:${found.column ?? 1} `;
  return new PortolanError("FILE_INVALID", `${place}${found?.message ?? "The package has no name."}`, {
    hint: found?.hint ?? "Write @user/name in lower case, such as @alice/github-mcp.",
    data: { diagnostics },
  });
}
