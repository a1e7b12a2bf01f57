// Name resolution of outgoing connections. The check happens when a connection is made, so that a DNS name cannot change after it.

import { lookup as systemLookup, type LookupAddress } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { isSpecialAddress } from "./addresses.ts";

/**
 * Refuses a name, with the error that `refuse` makes, if any of its addresses is not on the public Internet. Hosts that are addresses
 * are not looked up.
 */
export function guardLookup(
  refuse: (host: string, address: string) => Error | undefined,
  lookup: LookupFunction = systemLookup,
): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, "", 0);
      const addresses = Array.isArray(found) ? found : [{ address: found, family: isIP(found) }];
      const special = addresses.find(({ address }) => isSpecialAddress(address));
      const refusal = special === undefined ? undefined : refuse(hostname, special.address);
      if (refusal !== undefined) return callback(refusal, "", 0);
      answer(addresses, options.all, callback);
    });
  };
}

/** Resolves every name to these addresses, which were checked before. */
export function fixedLookup(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, options, callback) => answer(found, options.all, callback);
}

function answer(
  found: LookupAddress[],
  all: boolean | undefined,
  callback: Parameters<LookupFunction>[2],
): void {
  if (all === true) callback(null, found);
  else callback(null, found[0]?.address ?? "", found[0]?.family);
}
