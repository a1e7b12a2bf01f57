// Errors of the vault.

import { isPortolanError, machineFault, PortolanError } from "../../errors/index.ts";

/** Why the vault cannot be used. It is in the `data` of each error of the vault. */
export type VaultFault =
  | "damaged"
  | "newer"
  | "wrong-passphrase"
  | "no-passphrase"
  | "not-read"
  | "not-written";

export function vaultError(
  vault: string,
  reason: VaultFault,
  message: string,
  hint: string,
  cause?: unknown,
): PortolanError {
  return new PortolanError("SECRET_STORE_FAILED", message, {
    hint,
    data: { source: "vault", vault, reason },
    cause,
  });
}

export function wrongPassphrase(
  vault: string,
  which: string,
  hint = "Use the passphrase that you chose last for this vault.",
): PortolanError {
  return vaultError(
    vault,
    "wrong-passphrase",
    `The passphrase is wrong: the passphrase ${which} does not open the vault ${vault}.`,
    hint,
  );
}

export function unreadableVault(vault: string, reason: "damaged" | "newer", detail: string): PortolanError {
  return reason === "damaged"
    ? vaultError(
        vault,
        reason,
        `The vault ${vault} is damaged: ${detail}.`,
        "Portolan did not change the file. Restore it from a backup, or move it away and set its secrets again.",
      )
    : vaultError(
        vault,
        reason,
        `The vault ${vault} was created by a newer version of portolan: ${detail}.`,
        "Update portolan.",
      );
}

/** The reason of an error of the vault; undefined for another error. */
export function vaultFault(thrown: unknown): VaultFault | undefined {
  return isPortolanError(thrown) && thrown.data.source === "vault"
    ? (thrown.data.reason as VaultFault)
    : undefined;
}

/** Converts an error of the file system to an error that names the vault. */
export function toVaultError(vault: string, doing: "read" | "written", thrown: unknown): PortolanError {
  if (isPortolanError(thrown)) return thrown;
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  return doing === "read"
    ? vaultError(
        vault,
        "not-read",
        `The vault ${vault} could not be read: ${why}.`,
        "Check that this path is a regular file, and that you have permission to read it.",
        thrown,
      )
    : vaultError(
        vault,
        "not-written",
        `The vault ${vault} could not be written: ${why}.`,
        machineFault(thrown)?.hint ??
          "Nothing was saved, and the vault is unchanged. Remove the cause, then run the command again.",
        thrown,
      );
}
