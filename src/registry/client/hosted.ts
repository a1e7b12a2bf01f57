// Reads what a registry hosts by its hash alone: the caller compares the hash, so no index and no trust in the registry is needed.

import { parseUrl } from "../../base/net/urls.ts";
import { filePath, versionPath } from "../store/layout.ts";
import { toRegistryUrl } from "./client.ts";
import { createTransfer } from "./transfer.ts";

const MAX_DOCUMENT_BYTES = 2 * 1024 * 1024;

export interface HostedOptions {
  readonly token?: () => Promise<string | undefined>;
  readonly signal?: AbortSignal;
}

/** The metadata document of a version, by its hash as SRI. The caller checks the hash. */
export async function readHostedDocument(
  registry: string,
  integrity: string,
  { token, signal }: HostedOptions = {},
): Promise<Buffer> {
  const transfer = createTransfer(toRegistryUrl(registry), token);
  return (await transfer.send(versionPath(integrity), { maxBytes: MAX_DOCUMENT_BYTES, signal })).bytes;
}

/** True if the URL is one of the registry itself, which may see the token of that registry. */
export function isHostedBy(registry: string, url: string): boolean {
  const root = createTransfer(toRegistryUrl(registry), undefined).urlOf("");
  return parseUrl(url)?.href.startsWith(root) === true;
}

/** The URL under which a registry offers a file, if it hosts it. */
export function hostedFileUrl(registry: string, integrity: string): string {
  return createTransfer(toRegistryUrl(registry), undefined).urlOf(filePath(integrity));
}
