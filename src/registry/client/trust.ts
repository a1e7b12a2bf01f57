// Trust in a registry: the client remembers its key and the newest index, and refuses older, expired and foreign ones.

import { createHash } from "node:crypto";
import { mkdir, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { removeLeftovers, writeAtomic } from "../../base/files/atomic-write.ts";
import { withFileLock } from "../../base/files/file-lock.ts";
import { readLimited } from "../../base/files/limited-read.ts";
import { shellWord } from "../../base/text/command-line.ts";
import { PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import { fingerprintOf, MAX_INDEX_BYTES, type VerifiedIndex, verifyIndex } from "../catalog/signed-index.ts";

export interface Remembered {
  readonly url: string;
  readonly publicKey: string;
  readonly sequence: number;
  readonly sha256: string;
  readonly etag?: string;
}

/** Clocks of two machines may differ by this much. */
const CLOCK_SKEW_MS = 5 * 60_000;

/** Throws if the index is foreign, older than the remembered one, another with the same number, or expired. */
export function checkTrust(
  { index, publicKey, sha256 }: VerifiedIndex,
  {
    label,
    url,
    now,
    pinned,
    before,
  }: { label: string; url: string; now: Date; pinned?: string; before?: Remembered },
): void {
  const expected = pinned ?? before?.publicKey;
  if (expected !== undefined && publicKey !== expected)
    throw new PortolanError(
      "FORBIDDEN",
      `The index of ${label} is signed with the key that has the fingerprint ${fingerprintOf(publicKey)}, not with the key that has the fingerprint ${fingerprintOf(expected)}.`,
      {
        hint:
          pinned === undefined
            ? `If the operator confirms the new fingerprint, remove the stored key: portolan registry forget ${shellWord(url)}`
            : "If the operator confirms the new fingerprint, ask for the public key (publicKey in the output of portolan registry serve --json), and write it into key of this registry, under registries in portolan.yaml.",
      },
    );
  if (before !== undefined && index.sequence < before.sequence)
    throw new PortolanError(
      "FORBIDDEN",
      `The index of ${label} was rolled back: it has the sequence number ${index.sequence}, but Portolan has seen number ${before.sequence} before.`,
      {
        hint: "Either somebody serves an old index, or the operator restored a backup. After a restore, the operator must run portolan registry sign.",
      },
    );
  if (before !== undefined && index.sequence === before.sequence && sha256 !== before.sha256)
    throw new PortolanError(
      "FORBIDDEN",
      `The registry ${label} has two different indexes with the sequence number ${index.sequence}.`,
      {
        hint: "Do not install from this registry until its operator has explained the cause.",
      },
    );
  if (Date.parse(index.expiresAt) + CLOCK_SKEW_MS < now.getTime())
    throw new PortolanError(
      "FORBIDDEN",
      `The index of ${label} expired at ${index.expiresAt}. Somebody may withhold a newer index.`,
      {
        hint: "Check the clock of this machine. If it is right, ask the operator of the registry to renew the index: with portolan registry sign, or for a static copy with portolan registry export.",
      },
    );
}

export interface TrustStore {
  /** The remembered state, and the index if it is still there. Undefined for a registry that was never used. */
  read(): Promise<{ readonly before: Remembered; readonly cached: VerifiedIndex | undefined } | undefined>;
  /** Remembers an index, unless another process has remembered a newer one. */
  remember(verified: VerifiedIndex, bytes: Uint8Array, etag: string | undefined): Promise<void>;
  /** When the registry was last asked for its index, as a time in ms. Undefined for a registry that was never used. */
  checkedAt(): Promise<number | undefined>;
  /** Notes that the remembered index is still the newest one. */
  touch(): Promise<void>;
  forget(): Promise<boolean>;
}

export function openTrust(root: string, url: string): TrustStore {
  const folder = join(root, createHash("sha256").update(url).digest("hex").slice(0, 32));
  const [stateFile, indexFile] = [join(folder, "state.json"), join(folder, "index.jsonl")];
  const readState = async (): Promise<Remembered | undefined> => {
    try {
      return parseState((await readLimited(stateFile, 100_000)).toString("utf8"), stateFile, url);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  };
  return {
    read: async () => {
      const before = await readState();
      if (before === undefined) return undefined;
      const bytes = await readLimited(indexFile, MAX_INDEX_BYTES).catch(() => undefined);
      if (bytes === undefined || createHash("sha256").update(bytes).digest("hex") !== before.sha256)
        return { before, cached: undefined };
      return { before, cached: verifyIndex(bytes, indexFile) };
    },
    remember: async ({ index, publicKey, sha256 }, bytes, etag) => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await withFileLock(stateFile, async () => {
        const before = await readState();
        if (before !== undefined && before.sequence > index.sequence) return;
        await removeLeftovers(stateFile);
        await removeLeftovers(indexFile);
        const state: Remembered = {
          url,
          publicKey,
          sequence: index.sequence,
          sha256,
          ...(etag === undefined ? {} : { etag }),
        };
        await writeAtomic(indexFile, bytes, { mode: 0o600 });
        await writeAtomic(stateFile, Buffer.from(`${JSON.stringify(state, undefined, 2)}\n`), {
          mode: 0o600,
        });
      });
    },
    checkedAt: async () => (await stat(stateFile).catch(() => undefined))?.mtimeMs,
    touch: async () => {
      const now = new Date();
      // A folder that cannot be written only means that the index is renewed again next time.
      await utimes(stateFile, now, now).catch(() => {});
    },
    forget: async () => {
      const before = await readState().catch(() => true);
      await rm(folder, { recursive: true, force: true });
      return before !== undefined;
    },
  };
}

/** A broken file is an error: without it, an old or foreign index would be accepted. */
function parseState(text: string, file: string, url: string): Remembered {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  const { publicKey, sequence, sha256, etag } = isObject(value) ? value : {};
  if (typeof publicKey !== "string" || typeof sequence !== "number" || typeof sha256 !== "string")
    throw new PortolanError(
      "FILE_FAILED",
      `${file} is damaged. It contains the key and the state of the registry ${url}.`,
      {
        hint: `Delete the stored key and state: portolan registry forget ${shellWord(url)}. Portolan then trusts the key that the registry has at the next use.`,
      },
    );
  return { url, publicKey, sequence, sha256, ...(typeof etag === "string" ? { etag } : {}) };
}
