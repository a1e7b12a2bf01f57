// Quotas of tokens: bytes and versions per day (UTC). Usage is kept on disk, so that a restart does not reset it.

import { removeLeftovers, writeAtomic } from "../../base/files/atomic-write.ts";
import { withFileLock } from "../../base/files/file-lock.ts";
import { readLimited } from "../../base/files/limited-read.ts";
import { PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";

export interface QuotaLimits {
  /** Bytes of uploaded files per token and day. */
  readonly bytesPerDay: number;
  /** Published versions per token and day. */
  readonly versionsPerDay: number;
}

export interface Usage {
  readonly bytes: number;
  readonly versions: number;
}

export interface Quotas {
  /** Takes from the quota before the work is done. Throws RATE_LIMITED if it is used up. Failed work is given back. */
  take<T>(token: string, usage: Partial<Usage>, work: () => Promise<T>): Promise<T>;
}

export const QUOTA_DEFAULTS: QuotaLimits = { bytesPerDay: 2 * 1024 ** 3, versionsPerDay: 1_000 };

const MAX_BYTES = 16 * 1024 * 1024;
const DAY_MS = 86_400_000;

interface Day {
  readonly day: string;
  readonly tokens: ReadonlyMap<string, Usage>;
}

export function openQuotas(file: string, limits: QuotaLimits, now: () => Date): Quotas {
  /** Returns the day on which it was taken. */
  const change = (token: string, more: Usage, onDay?: string): Promise<string> =>
    withFileLock(file, async () => {
      await removeLeftovers(file);
      const day = now().toISOString().slice(0, 10);
      const isGivenBack = onDay !== undefined;
      // The quota of a past day needs nothing back.
      if (isGivenBack && onDay !== day) return day;
      const stored = await readDay(file);
      const tokens = new Map(stored.day === day ? stored.tokens : []);
      const { bytes = 0, versions = 0 } = tokens.get(token) ?? {};
      const after = { bytes: bytes + more.bytes, versions: versions + more.versions };
      if (!isGivenBack) check(after, limits, now());
      tokens.set(token, { bytes: Math.max(0, after.bytes), versions: Math.max(0, after.versions) });
      const content = JSON.stringify({ day, tokens: Object.fromEntries(tokens) });
      await writeAtomic(file, Buffer.from(`${content}\n`), { mode: 0o600 });
      return day;
    });
  return {
    take: async (token, { bytes = 0, versions = 0 }, work) => {
      const day = await change(token, { bytes, versions });
      try {
        return await work();
      } catch (error) {
        // A quota that cannot be given back must not hide why the work failed.
        await change(token, { bytes: -bytes, versions: -versions }, day).catch(() => {});
        throw error;
      }
    },
  };
}

function check({ bytes, versions }: Usage, { bytesPerDay, versionsPerDay }: QuotaLimits, now: Date): void {
  const what =
    versions > versionsPerDay
      ? `${versionsPerDay} versions`
      : bytes > bytesPerDay
        ? `${bytesPerDay} bytes of files`
        : undefined;
  if (what === undefined) return;
  const retryAfter = Math.ceil((DAY_MS - (now.getTime() % DAY_MS)) / 1_000);
  throw new PortolanError("RATE_LIMITED", `This token has reached its quota: ${what} per day (UTC).`, {
    hint: "Try again tomorrow, or ask the operator of the registry for a larger quota.",
    data: { status: 429, retryAfter },
  });
}

/** Usage is not worth a registry that accepts nothing: a file that cannot be read counts as an unused day. */
async function readDay(file: string): Promise<Day> {
  try {
    const value: unknown = JSON.parse((await readLimited(file, MAX_BYTES)).toString("utf8"));
    const { day, tokens } = isObject(value) ? value : {};
    const number = (one: unknown): number => (Number.isSafeInteger(one) ? (one as number) : 0);
    return {
      day: typeof day === "string" ? day : "",
      tokens: new Map(
        Object.entries(isObject(tokens) ? tokens : {}).map(([id, usage]) => {
          const { bytes, versions } = isObject(usage) ? usage : {};
          return [id, { bytes: number(bytes), versions: number(versions) }];
        }),
      ),
    };
  } catch {
    return { day: "", tokens: new Map() };
  }
}
