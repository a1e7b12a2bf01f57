// Remembers which names of one server led to which addresses: a program connects to an address, and the rules are about names.

const MAX_ADDRESSES = 20_000;
/** Of one address, the latest ones: many names share an address of a CDN. */
const MAX_NAMES = 16;

export interface KnownAddresses {
  /** Addresses are remembered until they are the oldest of too many: programs use them long after they looked them up. */
  add(name: string, addresses: readonly string[]): void;
  /** Latest first. */
  namesOf(address: string): readonly string[];
  /** All addresses of the name as of its latest look-up. */
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
