// Reads servers of the official MCP registry API: one version, the latest one, or the highest one of a range.

import {
  compareVersions,
  parseRange,
  parseVersion,
  satisfies,
  type Version,
} from "../../base/text/versions.ts";
import { isPortolanError, PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import { toServerDocument } from "../../packages/index.ts";
import { toRegistryUrl } from "./client.ts";
import type { HostedOptions } from "./hosted.ts";
import { createTransfer } from "./transfer.ts";

const MAX_ANSWER_BYTES = 2 * 1024 * 1024;
/** A list has the whole document of every version. */
const MAX_LIST_BYTES = 32 * 1024 * 1024;
const OFFICIAL = "io.modelcontextprotocol.registry/official";

/** A server as the registry lists it. */
export interface OfficialServer {
  /** The canonical bytes of the server's document, whose hash the lock file has. */
  readonly document: Buffer;
  /** The registry, without secrets. */
  readonly registry: string;
  readonly status: "active" | "deprecated" | "deleted";
  /** Why it is deprecated or deleted. */
  readonly message?: string;
  readonly publishedAt?: string;
}

/** The canonical bytes of the server's document, whose hash the lock file has. */
export async function readOfficialServer(
  registry: string,
  name: string,
  version = "latest",
  options: HostedOptions = {},
): Promise<Buffer> {
  const { value, label } = await send(registry, versionPath(name, version), MAX_ANSWER_BYTES, options);
  return toServer(value, label).document;
}

/**
 * The version of a server that is wanted: a version, a range, or `latest`. Undefined if the registry does not have it. Deleted
 * versions are found only by their exact version.
 */
export async function findOfficialServer(
  registry: string,
  name: string,
  wanted = "latest",
  options: HostedOptions = {},
): Promise<OfficialServer | undefined> {
  const isRange =
    parseVersion(wanted) === undefined && parseRange(wanted) !== undefined && wanted !== "latest";
  try {
    if (!isRange) {
      const { value, label } = await send(registry, versionPath(name, wanted), MAX_ANSWER_BYTES, options);
      return toServer(value, label);
    }
    const { value, label } = await send(registry, versionPath(name), MAX_LIST_BYTES, options);
    const entries = isObject(value) && Array.isArray(value.servers) ? value.servers : undefined;
    if (entries === undefined) throw noServer(label);
    const found = highest(entries, wanted);
    return found === undefined ? undefined : toServer(found, label);
  } catch (error) {
    if (isPortolanError(error) && error.data?.["status"] === 404) return undefined;
    throw error;
  }
}

function versionPath(name: string, version?: string): string {
  const path = `v0.1/servers/${encodeURIComponent(name)}/versions`;
  return version === undefined ? path : `${path}/${encodeURIComponent(version)}`;
}

async function send(
  registry: string,
  path: string,
  maxBytes: number,
  { token, signal }: HostedOptions,
): Promise<{ readonly value: unknown; readonly label: string }> {
  const transfer = createTransfer(toRegistryUrl(registry), token);
  const { bytes } = await transfer.send(path, { maxBytes, signal });
  try {
    return { value: JSON.parse(bytes.toString("utf8")), label: transfer.label };
  } catch (cause) {
    throw noServer(transfer.label, cause);
  }
}

/** The exact text, since versions of this API are any text; otherwise the highest version of the range. */
function highest(entries: readonly unknown[], range: string): unknown {
  let best: { readonly entry: unknown; readonly version: Version } | undefined;
  for (const entry of entries) {
    const text = isObject(entry) && isObject(entry.server) ? entry.server.version : undefined;
    if (typeof text !== "string") continue;
    if (text === range) return entry;
    const version = parseVersion(text);
    if (version === undefined || !satisfies(version, range) || statusOf(entry).status === "deleted") continue;
    if (best === undefined || compareVersions(version, best.version) > 0) best = { entry, version };
  }
  return best?.entry;
}

function toServer(value: unknown, label: string): OfficialServer {
  try {
    return { document: toServerDocument(value), registry: label, ...statusOf(value) };
  } catch (cause) {
    throw noServer(label, cause);
  }
}

function statusOf(value: unknown): Pick<OfficialServer, "status" | "message" | "publishedAt"> {
  const meta = isObject(value) && isObject(value._meta) ? value._meta[OFFICIAL] : undefined;
  const { status, statusMessage, publishedAt } = isObject(meta) ? meta : {};
  return {
    status: status === "deprecated" || status === "deleted" ? status : "active",
    message: typeof statusMessage === "string" ? statusMessage.slice(0, 1_000) : undefined,
    publishedAt: typeof publishedAt === "string" ? publishedAt.slice(0, 40) : undefined,
  };
}

function noServer(label: string, cause?: unknown): PortolanError {
  return new PortolanError("FILE_INVALID", `The registry ${label} did not return a server.`, {
    cause,
    hint: "Check that the URL is the URL of an MCP registry.",
  });
}
