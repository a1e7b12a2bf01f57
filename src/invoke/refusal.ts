// Arguments that must not be used as they are. Told to whoever called, never a fault of this program.

export class Refusal extends Error {
  override readonly name = "Refusal";
}

/** How messages name an argument: as the caller wrote it. */
export function named(path: readonly string[]): string {
  return `argument "${path.join(".").slice(0, 100)}"`;
}
