// Reads a server of the official MCP registry API: one version, or the latest one.

import { PortolanError } from "../../errors/index.ts";
import { toServerDocument } from "../../packages/index.ts";
import { toRegistryUrl } from "./client.ts";
import type { HostedOptions } from "./hosted.ts";
import { createTransfer } from "./transfer.ts";

const MAX_ANSWER_BYTES = 2 * 1024 * 1024;

/** The canonical bytes of the server's document, whose hash the lock file has. */
export async function readOfficialServer(
  registry: string,
  name: string,
  version = "latest",
  { token, signal }: HostedOptions = {},
): Promise<Buffer> {
  const transfer = createTransfer(toRegistryUrl(registry), token);
  const path = `v0.1/servers/${encodeURIComponent(name)}/versions/${encodeURIComponent(version)}`;
  const { bytes } = await transfer.send(path, { maxBytes: MAX_ANSWER_BYTES, signal });
  try {
    return toServerDocument(JSON.parse(bytes.toString("utf8")));
  } catch (cause) {
    throw new PortolanError("FILE_INVALID", `The registry ${transfer.label} did not answer with a server.`, {
      cause,
      hint: "Check that the URL is that of an MCP registry.",
    });
  }
}
