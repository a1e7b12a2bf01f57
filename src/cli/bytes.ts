// How much of a download is there, in the units that people count in.

const MEGABYTE = 1_000_000;

export function describeBytes({ received, total }: { received: number; total?: number | undefined }): string {
  const shown = (received / MEGABYTE).toFixed(1);
  return total === undefined ? `${shown} MB` : `${shown} of ${(total / MEGABYTE).toFixed(1)} MB`;
}
