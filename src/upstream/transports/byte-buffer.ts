// Bytes that wait for the rest of their message, in one buffer that grows by doubling: many tiny pieces cost no more than one large one.

const FIRST_SIZE = 4_096;

export class HeldBytes {
  #buffer: Buffer | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(bytes: Buffer): void {
    const needed = this.#length + bytes.length;
    if (this.#buffer === undefined || needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(FIRST_SIZE, needed, (this.#buffer?.length ?? 0) * 2));
      this.#buffer?.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    bytes.copy(this.#buffer, this.#length);
    this.#length = needed;
  }

  /** What is held, without letting it go; valid until the next `append`. */
  peek(): Buffer {
    return this.#buffer?.subarray(0, this.#length) ?? Buffer.alloc(0);
  }

  /** What is held; nothing is held afterwards. */
  take(): Buffer {
    const bytes = this.peek();
    this.#buffer = undefined;
    this.#length = 0;
    return bytes;
  }
}
