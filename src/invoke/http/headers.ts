// Headers of a request: those that the declaration gives, filled, and those that go without saying.

import { PortolanError } from "../../errors/index.ts";
import type { HttpInvocation } from "../../model/index.ts";
import { Refusal } from "../refusal.ts";
import type { Run } from "../types.ts";
import { asText, fillGap } from "../values.ts";

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** What HTTP itself needs to frame a message and find its host. */
const OWN = new Set([
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
/** All that a header may hold: visible Latin-1, spaces and tabs. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

export function checkHeaders(headers: HttpInvocation["headers"]): void {
  for (const { name } of headers) {
    const problem = !NAME.test(name)
      ? "is not a name for a header"
      : OWN.has(name.toLowerCase())
        ? "is set by HTTP itself"
        : undefined;
    if (problem !== undefined)
      throw new PortolanError("DECLARATION_INVALID", `the header "${name}" ${problem}`);
  }
}

/** A header of which a value is absent is left out. */
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
      throw new Refusal(
        `The header "${name}" cannot hold that value: line breaks, control characters and letters outside of Latin-1 are refused.`,
      );
    filled[name.toLowerCase()] = text;
  }
  // Counted in bytes as they come; what is packed would count for less than it is.
  filled["accept-encoding"] = "identity";
  return filled;
}
