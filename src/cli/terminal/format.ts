// Formats counts, sizes, and the progress of a download.

const MEGABYTE = 1_000_000;

/** `1 tool`, `2 tools` */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

export function formatBytes(size: number): string {
  if (size < 1_000) return `${size} B`;
  if (size < MEGABYTE) return `${(size / 1_000).toFixed(1)} kB`;
  return `${(size / MEGABYTE).toFixed(1)} MB`;
}

/** `1.2 of 3.4 MB` */
export function formatDownload({ received, total }: { received: number; total?: number }): string {
  const shown = (received / MEGABYTE).toFixed(1);
  return total === undefined ? `${shown} MB` : `${shown} of ${(total / MEGABYTE).toFixed(1)} MB`;
}
