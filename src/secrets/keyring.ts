// The system's keyring as a source of secrets: service "portolan", one account per name.

import type { Keyring } from "./keyring-access.ts";
import { Secret } from "./secret.ts";
import type { SecretSource } from "./source.ts";

const SERVICE = "portolan";

export function createKeyringSource(keyring: Keyring): Required<SecretSource> {
  return {
    name: "keyring",
    async get(name) {
      const value = await keyring.get(SERVICE, name);
      return value ? new Secret(value) : undefined;
    },
    list: () => keyring.accounts(SERVICE),
    set: (name, value) => keyring.set(SERVICE, name, value.reveal()),
    remove: (name) => keyring.remove(SERVICE, name),
    check: () => keyring.check(),
  };
}
