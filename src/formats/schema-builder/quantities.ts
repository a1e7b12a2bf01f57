// Sizes and durations as people write them in config files.

const SIZE = /^(\d+(?:\.\d+)?)\s*([kmg]i?)?b?$/i;
const SIZE_UNITS: Readonly<Record<string, number>> = {
  "": 1,
  k: 1_000,
  ki: 1_024,
  m: 1_000_000,
  mi: 1_024 ** 2,
  g: 1_000_000_000,
  gi: 1_024 ** 3,
};

export const SIZE_PATTERN = "^\\d+(\\.\\d+)?\\s*([kKmMgG][iI]?)?[bB]?$";

/** Bytes: 4096 and "4096B", "512MB" in thousands, "512MiB" in 1024s. Returns undefined for other text, and for zero. */
export function parseSize(written: string | number): number | undefined {
  const [, amount, unit = ""] = SIZE.exec(String(written).trim()) ?? [];
  if (amount === undefined) return undefined;
  const bytes = Math.round(Number(amount) * (SIZE_UNITS[unit.toLowerCase()] ?? Number.NaN));
  return bytes > 0 && Number.isSafeInteger(bytes) ? bytes : undefined;
}

const TIME = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h)?$/;
const TIME_UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** The longest time of a timer: a little more than 24 days. */
const MAX_MS = 2_147_483_647;

export const DURATION_PATTERN = "^\\d+(\\.\\d+)?\\s*(ms|s|m|h)?$";

/** Milliseconds: 30 and "30s" are seconds, also "500ms", "2m", "1h". Returns undefined for other text. */
export function parseDuration(written: string | number): number | undefined {
  const [, amount, unit] = TIME.exec(String(written).trim()) ?? [];
  if (amount === undefined) return undefined;
  const ms = Math.round(Number(amount) * (TIME_UNITS[unit ?? "s"] ?? 0));
  return ms <= MAX_MS ? ms : undefined;
}
