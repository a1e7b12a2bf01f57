// A value that prints as [redacted] wherever it is printed by accident.

export const REDACTED = "[redacted]";

export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself; for the place that hands it to a server, and no other. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  static {
    Object.defineProperty(this.prototype, Symbol.for("nodejs.util.inspect.custom"), {
      value: () => REDACTED,
    });
  }
}
