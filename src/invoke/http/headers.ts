// Headers of a request: the ones of the invocation, filled, and the defaults.

import { PortolanError } from "../../errors/index.ts";
import type { HttpInvocation } from "../../model/index.ts";
import type { Run } from "../types.ts";
import { ArgumentError, asText, fillGap } from "../values.ts";

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Headers that the HTTP client sets itself. */
const RESERVED = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** Characters of a header value: visible Latin-1, spaces and tabs. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

export function checkHeaders(headers: HttpInvocation["headers"]): void {
  for (const { name } of headers) {
    const problem = !NAME.test(name)
      ? "is not a name for a header"
      : RESERVED.has(name.toLowerCase())
        ? "is set by HTTP itself"
        : undefined;
    if (problem !== undefined)
      throw new PortolanError("DECLARATION_INVALID", `the header "${name}" ${problem}`);
  }
}

/** A header with an absent value is left out. */
export function fillHeaders(
  headers: HttpInvocation["headers"],
  run: Pick<Run, "args" | "headers">,
): Record<string, string> {
  const filled: Record<string, string> = { accept: "*/*", "user-agent": "portolan" };
  for (const { name, value } of headers) {
    const parts = value.map((part) => (part.kind === "text" ? part.text : fillGap(part, run)));
    if (parts.includes(undefined)) continue;
    const text = parts.map(asText).join("");
    if (!VALUE.test(text))
      throw new ArgumentError(
        `The header "${name}" cannot hold that value: line breaks, control characters and letters outside of Latin-1 are refused.`,
      );
    filled[name.toLowerCase()] = text;
  }
  // The size limit counts received bytes, so the body must not be compressed.
  filled["accept-encoding"] = "identity";
  return filled;
}
