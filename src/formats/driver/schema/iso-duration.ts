// Lengths of time as ISO 8601 writes them: PT30S, PT5M, P1D. Months and years have no fixed length and are refused.

const DURATION = /^P(?:(\d+)W|(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d{1,3})?)S)?)?)$/;
/** What an editor can tell at once. */
export const DURATION_ISO = "^P(?:T)?\\S+$";

const UNITS = [604_800_000, 86_400_000, 3_600_000, 60_000, 1_000];

/** Milliseconds, more than none; undefined for what is no such length. */
export function parseIsoDuration(text: string): number | undefined {
  const parts = text.length > 40 ? undefined : DURATION.exec(text)?.slice(1);
  if (parts === undefined) return undefined;
  const ms = Math.round(parts.reduce((sum, part, index) => sum + Number(part ?? 0) * (UNITS[index] ?? 0), 0));
  return ms > 0 && Number.isSafeInteger(ms) ? ms : undefined;
}

/** The shortest of the usual spellings. */
export function writeIsoDuration(ms: number): string {
  const units: readonly [number, string, string][] = [
    [86_400_000, "P", "D"],
    [3_600_000, "PT", "H"],
    [60_000, "PT", "M"],
  ];
  for (const [unit, before, after] of units) if (ms % unit === 0) return `${before}${ms / unit}${after}`;
  return `PT${ms / 1_000}S`;
}
