// Where a connection may lead: checked when it is dialled, so that a name cannot point elsewhere after a check.

import { lookup as dnsLookup, type LookupAddress } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { type HttpInvocation, isSpecialAddress } from "../../model/index.ts";

/** A name that leads to an address which only a host written as such may lead to. */
export class PrivateAddress extends Error {
  readonly code = "PORTOLAN_PRIVATE_ADDRESS";

  constructor(host: string, address: string) {
    super(
      `${host} leads to the private address ${address}. If that is meant, set "allowPrivate: true" on the http invocation.`,
    );
  }
}

/** The author of the declaration wrote the address itself, or said that a name may lead anywhere. */
export function mayBePrivate(invocation: Pick<HttpInvocation, "allowPrivate">, hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  return invocation.allowPrivate === true || host === "localhost" || isIP(host) !== 0;
}

/** Name resolution that refuses names of which any address is special. Not called for hosts that are addresses already. */
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
