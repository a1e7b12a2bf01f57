// Byte buffer for an incomplete message. It grows by doubling, so that many small chunks cost no more than one large one.

const FIRST_SIZE = 4_096;

export class ByteBuffer {
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

  /** The buffered bytes, which stay in the buffer. The result is valid until the next `append`. */
  peek(): Buffer {
    return this.#buffer?.subarray(0, this.#length) ?? Buffer.alloc(0);
  }

  /** Removes and returns the buffered bytes. */
  take(): Buffer {
    const bytes = this.peek();
    this.#buffer = undefined;
    this.#length = 0;
    return bytes;
  }
}
