// The URL under which browsers reach the gateway, with which the links to its login pages begin.

import { isUnspecifiedAddress } from "../../base/net/addresses.ts";
import type { Diagnostic } from "../../errors/index.ts";
import type { GatewaySettings } from "../../model/index.ts";

/**
 * Returns the URL before `/mcp`, without a slash at its end. `url` is the one at which the gateway listens. Returns undefined if
 * nothing names it: a gateway at every address, such as 0.0.0.0, does not know which of its addresses browsers reach.
 */
export function baseUrlOf(
  { publicUrl, oauth }: GatewaySettings,
  url: string | undefined,
): string | undefined {
  const own = url === undefined || isUnspecifiedAddress(new URL(url).hostname) ? undefined : url;
  const found = publicUrl ?? (oauth?.resource ?? own)?.replace(/\/mcp$/, "");
  return found?.replace(/\/$/, "");
}

/** The diagnostic for servers at which callers log in, although there are no links; undefined if no server needs them. */
export function missingLinks(servers: readonly string[]): Diagnostic | undefined {
  if (servers.length === 0) return undefined;
  return {
    code: "CONFIG_INVALID",
    severity: "warning",
    message: `Callers get no links to log in to ${servers.join(", ")}, because the gateway listens at every address and does not know which URL browsers use.`,
    hint: "In portolan.yaml, set gateway.public_url to the URL of the gateway that browsers use, such as https://tools.example.com",
  };
}
