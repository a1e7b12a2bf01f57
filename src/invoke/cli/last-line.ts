// Tells once a second that a command goes on, with the last line that it wrote.

const EVERY_MS = 1_000;
const LOOKED_AT_BYTES = 1_024;
const SHOWN_CHARS = 200;

export class LastLine {
  readonly #tell: (line: string) => void;
  #recent: Buffer = Buffer.alloc(0);
  #news = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(tell: (line: string) => void) {
    this.#tell = tell;
  }

  heard(chunk: Buffer): void {
    const all = chunk.length >= LOOKED_AT_BYTES ? chunk : Buffer.concat([this.#recent, chunk]);
    this.#recent = Buffer.from(all.subarray(-LOOKED_AT_BYTES));
    this.#news = true;
    this.#timer ??= setInterval(() => this.#tick(), EVERY_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    if (!this.#news) return;
    this.#news = false;
    const lines = this.#recent.toString("utf8").split(/[\r\n]+/);
    // Colours and cursor movements are for a terminal.
    const plain = lines.map((line) => line.replace(/\x1b\[[\d;?]*[A-Za-z]|[\x00-\x1f\x7f-\x9f]/g, "").trim());
    this.#tell((plain.findLast((line) => line !== "") ?? "").slice(0, SHOWN_CHARS));
  }
}
