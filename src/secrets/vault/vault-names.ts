// Names of the secrets in a vault, in a file beside it: they can be listed without a passphrase. Values are only in the vault.

import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { writeAtomic } from "../../base/files/atomic-write.ts";
import { readLimited } from "../../base/files/limited-read.ts";
import { isObject } from "../../model/index.ts";
import { MAX_VAULT_BYTES } from "./vault-reader.ts";

const fileOf = (vault: string): string => `${vault}.names`;

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Called after the vault was written. The names are a convenience, so a failure only removes them. */
export async function writeNames(vault: string, sealed: Uint8Array, names: readonly string[]): Promise<void> {
  const text = JSON.stringify({ vault: hashOf(sealed), names });
  await writeAtomic(fileOf(vault), Buffer.from(`${text}\n`), { mode: 0o600 }).catch(() =>
    rm(fileOf(vault), { force: true }).catch(() => undefined),
  );
}

/** The names, if they were written for exactly these bytes of the vault. */
export async function readNames(vault: string, sealed: Uint8Array): Promise<readonly string[] | undefined> {
  try {
    const bytes = await readLimited(fileOf(vault), MAX_VAULT_BYTES);
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    if (!isObject(value) || value["vault"] !== hashOf(sealed) || !Array.isArray(value["names"]))
      return undefined;
    const names: unknown[] = value["names"];
    return names.every((name): name is string => typeof name === "string") ? names : undefined;
  } catch {
    return undefined;
  }
}
