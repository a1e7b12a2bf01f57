// Secret: a wrapper whose value prints as [redacted].

export const REDACTED = "[redacted]";

export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** Returns the value. Only code that passes it to a server calls this. */
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
