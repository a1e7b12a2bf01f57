// Address guard against SSRF: checks addresses when the connection is made, so that a DNS name cannot change after the check.

import { lookup as dnsLookup, type LookupAddress } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { isSpecialAddress } from "../../base/net/addresses.ts";
import type { HttpInvocation } from "../../model/index.ts";

/** A DNS name resolved to a private address, which is allowed only if the URL spells the address out. */
export class PrivateAddress extends Error {
  readonly code = "PORTOLAN_PRIVATE_ADDRESS";

  constructor(host: string, address: string) {
    super(
      `${host} resolves to the private address ${address}. To allow it, set "allowPrivate: true" on the http invocation.`,
    );
  }
}

/** True if the mcpfile spells the address out, or allows private addresses for the name. */
export function mayBePrivate(invocation: Pick<HttpInvocation, "allowPrivate">, hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  return invocation.allowPrivate === true || host === "localhost" || isIP(host) !== 0;
}

/** Name resolution that refuses a name if any of its addresses is private. Hosts that are addresses are not looked up. */
export function guardedLookup(lookup: LookupFunction = dnsLookup): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, "", 0);
      const addresses: LookupAddress[] = Array.isArray(found)
        ? found
        : [{ address: found, family: isIP(found) }];
      const special = addresses.find(({ address }) => isSpecialAddress(address));
      if (special !== undefined) return callback(new PrivateAddress(hostname, special.address), "", 0);
      const [first] = addresses;
      if (options.all === true) callback(null, addresses);
      else callback(null, first?.address ?? "", first?.family);
    });
  };
}
