// Secrets with which the last session of a server was opened, so that a reload finds the servers whose secrets changed.

import { hash } from "node:crypto";
import { changedError, type PortolanError, SLOW_SERVER_HINT, toPortolanError } from "../../errors/index.ts";
import type { SecretStore } from "../../secrets/index.ts";

export interface UsedSecrets {
  /** A digest of the config with its values; undefined before the first session, and for contracts. */
  digest?: string;
  /** Of contracts: true if a server of a driver was started with other values. Throws if one cannot be read again. */
  hasNew?: () => Promise<boolean>;
  /** The names that are being looked up. */
  readonly pending: Set<string>;
}

type OfProgram = Pick<SecretStore, "ofProgram">;

/** Values of secrets are not kept for the comparison. */
export function digestOf(resolved: unknown): string {
  return hash("sha256", JSON.stringify(resolved));
}

/** The error of a call that waited for the start of a server, while the server waits for a function of the program. */
export function explainStart(
  thrown: unknown,
  { secrets, usedSecrets: { pending } }: { readonly secrets: OfProgram; readonly usedSecrets: UsedSecrets },
): PortolanError {
  const error = toPortolanError(thrown);
  if (error.hint !== SLOW_SERVER_HINT || secrets.ofProgram !== true || pending.size === 0) return error;
  const names = [...pending].join(", ");
  return changedError(error, {
    message: `${error.message}: the function "secrets" that your program passed to Portolan has not answered yet for ${names}`,
    hint: "Return the value of the secret from this function, or undefined.",
  });
}
