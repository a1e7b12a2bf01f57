// Secrets that are obtained while the program runs, such as tokens: each owner's values replace its earlier ones, which are forgotten
// some time later. The set is bounded, because a gateway runs for months.

/** A replaced value may still appear in late output, and in requests that another session sends with it. */
const REPLACED_MS = 30 * 60_000;
/** One login has up to four values. */
const MAX_VALUES = 4_096;

export interface ReplacedSecrets {
  /** Gives the owner these values. An empty list is for an owner that has ended. */
  replace(owner: string, values: readonly string[]): void;
}

export interface ReplacedSecretsOptions {
  /** Called when a value is used for the first time, and again after it was forgotten. */
  readonly add: (value: string) => void;
  readonly forget: (value: string) => void;
  readonly now?: () => number;
  readonly maxValues?: number;
}

export function createReplacedSecrets(options: ReplacedSecretsOptions): ReplacedSecrets {
  const { add, forget, now = Date.now, maxValues = MAX_VALUES } = options;
  /** In the order of their last change. */
  const owners = new Map<string, readonly string[]>();
  /** How many owners use a value. Zero for one that was replaced. */
  const uses = new Map<string, number>();
  /** When values were replaced, in that order. */
  const replaced = new Map<string, number>();

  const release = (values: readonly string[]): void => {
    for (const value of values) {
      const left = (uses.get(value) as number) - 1;
      uses.set(value, left);
      if (left === 0) replaced.set(value, now());
    }
  };
  const drop = (value: string): void => {
    replaced.delete(value);
    uses.delete(value);
    forget(value);
  };

  return {
    replace(owner, given) {
      const values = [...new Set(given)];
      const before = owners.get(owner) ?? [];
      for (const value of values) {
        if (!uses.has(value)) add(value);
        uses.set(value, (uses.get(value) ?? 0) + 1);
        replaced.delete(value);
      }
      release(before);
      owners.delete(owner);
      if (values.length > 0) owners.set(owner, values);
      for (const [value, at] of replaced) {
        const isLate = now() - at >= REPLACED_MS;
        if (!isLate && uses.size <= maxValues) break;
        drop(value);
      }
      // The owner that changed least recently is the one that most probably ended without a word.
      for (const [oldest, held] of owners) {
        if (uses.size <= maxValues || oldest === owner) break;
        owners.delete(oldest);
        release(held);
        for (const value of held) if (uses.get(value) === 0) drop(value);
      }
    },
  };
}
