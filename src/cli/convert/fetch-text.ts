// Fetches a text from a URL that the user named: with limits for time and size, and from that host only.

import { fileURLToPath } from "node:url";
import { boundedFetch, FetchError } from "../../base/net/bounded-fetch.ts";
import { isSecureUrl } from "../../base/net/urls.ts";
import { PortolanError } from "../../errors/index.ts";
import { plainLine } from "../terminal/safe-text.ts";

const TIMEOUT_MS = 20_000;
const MAX_BYTES = 16 * 1024 * 1024;
const ACCEPT = "application/json, application/yaml, text/yaml, */*;q=0.5";

/** Returns the text and its final URL. The user named the host, so it may be in a private network. */
export async function fetchText(
  address: string,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly url: string }> {
  try {
    const response = await boundedFetch(parseAddress(address), {
      ...{ signal, headers: { accept: ACCEPT }, decompress: true, redirects: "same-host", addresses: "any" },
      ...{ maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS },
    });
    const { url, status, statusText } = response;
    if (status < 200 || status > 299) {
      response.close();
      throw failed(url, `the response was ${status} ${plainLine(statusText, 100)}`.trim());
    }
    return { text: decode(await response.bytes(), url), url: url.href };
  } catch (error) {
    throw error instanceof FetchError ? toPortolanError(error) : error;
  }
}

function toPortolanError(error: FetchError): PortolanError {
  const { kind, url, target, code, message } = error;
  if (kind === "redirect" && target !== undefined)
    return new PortolanError(
      "TARGET_INVALID",
      `${labelOf(url)} redirects to another host: ${labelOf(parseAddress(target.href))}.`,
      { hint: "If you trust the other host, run the command again with the new URL." },
    );
  if (kind === "timeout")
    return new PortolanError(
      "TIMEOUT",
      `${labelOf(url)} did not answer within ${TIMEOUT_MS / 1_000} seconds.`,
      { hint: "Download the description yourself, and give the path of the file.", cause: error },
    );
  if (kind === "too-large")
    return new PortolanError(
      "HTTP_ERROR",
      `${labelOf(url)} cannot be fetched: it has more than ${MAX_BYTES / 1024 / 1024} MiB.`,
      { hint: "Use a smaller description. The same limit applies to files.", cause: error },
    );
  return failed(url, plainLine(code ?? message, 200), error);
}

function parseAddress(address: string): URL {
  if (!URL.canParse(address))
    throw new PortolanError("TARGET_INVALID", `${JSON.stringify(plainLine(address, 200))} is not a URL.`);
  const url = new URL(address);
  if (url.protocol === "file:")
    throw new PortolanError(
      "TARGET_INVALID",
      `${plainLine(address, 300)} is not fetched: file: URLs are not supported.`,
      {
        hint: `Give the path of the file instead of a file: URL${pathOf(url)}`,
      },
    );
  if (url.username !== "" || url.password !== "")
    throw new PortolanError("TARGET_INVALID", `The URL of ${url.host} contains a user name or password.`, {
      hint: "Download the description yourself, and give the path of the file.",
    });
  if (isSecureUrl(url)) return url;
  throw new PortolanError(
    "TARGET_INVALID",
    `${labelOf(url)} is not fetched: the URL must be https, or http on this computer.`,
    {
      hint: "Without https, others on the network could change the content. Download the description yourself, and give the path of the file.",
    },
  );
}

/** A file URL with the name of another host has no path on this computer. */
function pathOf(url: URL): string {
  try {
    return `: ${plainLine(fileURLToPath(url), 300)}`;
  } catch {
    return "";
  }
}

function decode(bytes: Buffer, url: URL): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new PortolanError("HTTP_ERROR", `${labelOf(url)} cannot be used: it is not UTF-8 text.`, {
      hint: "Download the description yourself, save it as UTF-8, and give the path of the file.",
    });
  }
}

function failed(url: URL, reason: string, cause?: unknown): PortolanError {
  return new PortolanError("HTTP_ERROR", `${labelOf(url)} cannot be fetched: ${reason}.`, {
    cause,
    hint: "Check the URL, or download the description yourself and give the path of the file.",
  });
}

/** The URL without the parts that may be secret. */
function labelOf({ origin, pathname }: URL): string {
  return plainLine(`${origin}${pathname}`, 300);
}
