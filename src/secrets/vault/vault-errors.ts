// Errors of the vault.

import { isPortolanError, machineFault, PortolanError } from "../../errors/index.ts";

export function vaultError(
  vault: string,
  reason: "damaged" | "newer" | "wrong-passphrase" | "no-passphrase" | "not-read" | "not-written",
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

export function wrongPassphrase(vault: string, which: string): PortolanError {
  return vaultError(
    vault,
    "wrong-passphrase",
    `The passphrase is wrong: ${which} does not open the vault ${vault}.`,
    "Give the passphrase that the vault was made with.",
  );
}

export function unreadableVault(vault: string, reason: "damaged" | "newer", detail: string): PortolanError {
  return reason === "damaged"
    ? vaultError(
        vault,
        reason,
        `The vault ${vault} is damaged: ${detail}.`,
        "Restore it from a backup, or move it away and set its secrets again. It has not been changed.",
      )
    : vaultError(
        vault,
        reason,
        `The vault ${vault} was made by a newer portolan: ${detail}.`,
        "Update portolan.",
      );
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
        "Check the file.",
        thrown,
      )
    : vaultError(
        vault,
        "not-written",
        `The vault ${vault} could not be written: ${why}.`,
        machineFault(thrown)?.hint ??
          "Its content is unchanged. Check the disk and the folder, then try again.",
        thrown,
      );
}
