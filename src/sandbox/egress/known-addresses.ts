// Remembers which names a server resolved to which addresses: programs connect to addresses, but the allow-list
// contains names.

const MAX_ADDRESSES = 20_000;
/** Names kept per address, newest first: many names share an address of a CDN. */
const MAX_NAMES = 16;

export interface KnownAddresses {
  /** Keeps each address until there are too many, because programs use addresses long after the look-up. */
  add(name: string, addresses: readonly string[]): void;
  /** Latest first. */
  namesOf(address: string): readonly string[];
  /** All addresses of the name's latest look-up. */
  addressesOf(name: string): readonly string[];
}

export function createKnownAddresses(maxAddresses: number = MAX_ADDRESSES): KnownAddresses {
  const names = new Map<string, readonly string[]>();
  const latest = new Map<string, readonly string[]>();
  return {
    add(name, addresses) {
      latest.delete(name);
      latest.set(name, addresses);
      for (const address of addresses) {
        const others = (names.get(address) ?? []).filter((other) => other !== name);
        names.delete(address);
        names.set(address, [name, ...others].slice(0, MAX_NAMES));
      }
      for (const map of [names, latest])
        for (const oldest of map.keys()) {
          if (map.size <= maxAddresses) break;
          map.delete(oldest);
        }
    },
    namesOf: (address) => names.get(address) ?? [],
    addressesOf: (name) => latest.get(name) ?? [],
  };
}
