// What a command writes: all of it up to a limit, then its beginning and its end.

export class KeptOutput {
  readonly #max: number;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #left = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get cut(): boolean {
    return this.#left > 0;
  }

  append(chunk: Buffer): void {
    const room = Math.ceil(this.#max / 2) - this.#headBytes;
    if (room > 0) {
      const taken = chunk.subarray(0, room);
      this.#head.push(taken);
      this.#headBytes += taken.length;
    }
    const rest = room > 0 ? chunk.subarray(room) : chunk;
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    const keep = Math.floor(this.#max / 2);
    // Joined now and then rather than for every chunk: a flood of small ones must not cost the square of their number.
    if (this.#tailBytes > keep * 2 + 65_536) this.#trim(keep);
  }

  bytes(): Buffer {
    const keep = Math.floor(this.#max / 2);
    if (this.#tailBytes > keep) this.#trim(keep);
    if (this.#left === 0) return Buffer.concat([...this.#head, ...this.#tail]);
    const note = Buffer.from(`\n[... ${this.#left} bytes are left out here ...]\n`);
    return Buffer.concat([trimEnd(Buffer.concat(this.#head)), note, trimStart(Buffer.concat(this.#tail))]);
  }

  #trim(keep: number): void {
    const all = Buffer.concat(this.#tail);
    const over = Math.max(0, all.length - keep);
    this.#left += over;
    // A copy, so that what was cut off can go.
    this.#tail = [Buffer.from(all.subarray(over))];
    this.#tailBytes = keep;
  }
}

/** Half a character at the cut goes with what was cut. */
function trimEnd(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && bytes.length - end < 3 && ((bytes[end - 1] ?? 0) & 0xc0) === 0x80) end -= 1;
  const lead = bytes[end - 1] ?? 0;
  if (lead < 0xc0) return bytes;
  const size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  return bytes.length - end + 1 < size ? bytes.subarray(0, end - 1) : bytes;
}

function trimStart(bytes: Buffer): Buffer {
  let start = 0;
  while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return bytes.subarray(start);
}
