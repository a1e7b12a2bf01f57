// Fetches a text from a URL that the user named: with limits for time and size, and from that host only.

import { isSecureUrl } from "../../base/net/urls.ts";
import { PortolanError } from "../../errors/index.ts";
import { plainLine } from "../terminal/safe-text.ts";

export interface FetchLimits {
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
}

const TIMEOUT_MS = 20_000;
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_REDIRECTS = 5;
const ACCEPT = "application/json, application/yaml, text/yaml, */*;q=0.5";

/** Returns the text and its final URL. */
export async function fetchText(
  address: string,
  signal: AbortSignal,
  { timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES }: FetchLimits = {},
): Promise<{ readonly text: string; readonly url: string }> {
  const late = AbortSignal.timeout(timeoutMs);
  let url = parseAddress(address);
  try {
    for (let hops = 0; ; hops += 1) {
      const response = await fetch(url, {
        redirect: "manual",
        headers: { accept: ACCEPT, "user-agent": "portolan" },
        signal: AbortSignal.any([signal, late]),
      });
      const next = response.headers.get("location");
      if (response.status >= 300 && response.status < 400 && next !== null) {
        await response.body?.cancel();
        if (hops === MAX_REDIRECTS) throw failed(url, "it has too many redirects");
        url = followed(url, next);
        continue;
      }
      if (!response.ok) {
        await response.body?.cancel();
        throw failed(
          url,
          `the response was ${response.status} ${plainLine(response.statusText, 100)}`.trim(),
        );
      }
      return { text: await readBody(response, maxBytes, url), url: url.href };
    }
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof PortolanError) throw thrown;
    if (late.aborted)
      throw new PortolanError(
        "TIMEOUT",
        `${labelOf(url)} did not answer within ${timeoutMs / 1_000} seconds.`,
        {
          hint: "Download it yourself, and pass the file.",
          cause: thrown,
        },
      );
    throw failed(url, reasonOf(thrown), thrown);
  }
}

/** Checks a redirect: only the same host, and never from HTTPS to HTTP. */
function followed(from: URL, location: string): URL {
  if (!URL.canParse(location, from.href)) throw failed(from, "it redirects to something that is not a URL");
  const to = parseAddress(new URL(location, from).href);
  if (to.host === from.host && to.protocol === from.protocol) return to;
  const sameName = to.hostname === from.hostname && to.protocol === "https:" && from.protocol === "http:";
  if (sameName) return to;
  throw new PortolanError("TARGET_INVALID", `${labelOf(from)} redirects to another host: ${labelOf(to)}.`, {
    hint: "If you trust that host, give its URL.",
  });
}

function parseAddress(address: string): URL {
  if (!URL.canParse(address))
    throw new PortolanError("TARGET_INVALID", `${JSON.stringify(plainLine(address, 200))} is not a URL.`);
  const url = new URL(address);
  if (url.username !== "" || url.password !== "")
    throw new PortolanError("TARGET_INVALID", `The URL of ${url.host} contains a user name or password.`, {
      hint: "Download it yourself, and pass the file.",
    });
  if (isSecureUrl(url)) return url;
  throw new PortolanError(
    "TARGET_INVALID",
    `${labelOf(url)} is not fetched: the URL must be https, or http on this computer.`,
    {
      hint: "Without https, others on the network could change the content. Download it yourself, and pass the file.",
    },
  );
}

async function readBody(response: Response, maxBytes: number, url: URL): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    // Leaving the loop closes the connection.
    if (size > maxBytes) throw failed(url, `it has more than ${maxBytes / 1024 / 1024} MiB`);
    chunks.push(chunk);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw failed(url, "it is not UTF-8 text");
  }
}

function failed(url: URL, reason: string, cause?: unknown): PortolanError {
  return new PortolanError("HTTP_ERROR", `${labelOf(url)} cannot be fetched: ${reason}.`, {
    cause,
    hint: "Check the URL, or download it yourself and pass the file.",
  });
}

/** The URL without the parts that may be secret. */
function labelOf({ origin, pathname }: URL): string {
  return plainLine(`${origin}${pathname}`, 300);
}

function reasonOf(thrown: unknown): string {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const { code, message } = (cause ?? thrown) as { code?: unknown; message?: unknown };
  return plainLine(typeof code === "string" ? code : String(message), 200);
}
