// Output of a command: kept up to a limit, beyond it only its beginning and its end; its last line is reported as progress.

const EVERY_MS = 1_000;
const RECENT_BYTES = 1_024;
const SHOWN_CHARS = 200;

export class CapturedOutput {
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
    // The chunks are joined now and then, not each time: joining for every small chunk would take quadratic time.
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
    // The copy lets the removed bytes be collected.
    this.#tail = [Buffer.from(all.subarray(over))];
    this.#tailBytes = keep;
  }
}

/** Removes an incomplete UTF-8 character at the end. */
function trimEnd(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && bytes.length - end < 3 && ((bytes[end - 1] ?? 0) & 0xc0) === 0x80) end -= 1;
  const lead = bytes[end - 1] ?? 0;
  if (lead < 0xc0) return bytes;
  const size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  return bytes.length - end + 1 < size ? bytes.subarray(0, end - 1) : bytes;
}

/** Removes an incomplete UTF-8 character at the start. */
function trimStart(bytes: Buffer): Buffer {
  let start = 0;
  while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return bytes.subarray(start);
}

/** Reports the last line of output as progress, once a second. */
export class OutputProgress {
  readonly #report: (line: string) => void;
  #recent: Buffer = Buffer.alloc(0);
  #changed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(report: (line: string) => void) {
    this.#report = report;
  }

  append(chunk: Buffer): void {
    const all = chunk.length >= RECENT_BYTES ? chunk : Buffer.concat([this.#recent, chunk]);
    this.#recent = Buffer.from(all.subarray(-RECENT_BYTES));
    this.#changed = true;
    this.#timer ??= setInterval(() => this.#tick(), EVERY_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    if (!this.#changed) return;
    this.#changed = false;
    const lines = this.#recent.toString("utf8").split(/[\r\n]+/);
    // Escape sequences for colours and cursor movements are removed.
    const plain = lines.map((line) => line.replace(/\x1b\[[\d;?]*[A-Za-z]|[\x00-\x1f\x7f-\x9f]/g, "").trim());
    this.#report((plain.findLast((line) => line !== "") ?? "").slice(0, SHOWN_CHARS));
  }
}
