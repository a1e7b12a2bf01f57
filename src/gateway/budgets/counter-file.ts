// File of a workspace's budget counters, so that a restart of the gateway does not reset them. Only the user can read it.

import { chmod, mkdir, readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { removeLeftovers, writeAtomic } from "../../base/files/atomic-write.ts";
import { withFileLock } from "../../base/files/file-lock.ts";
import { type Report, toPortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import type { Counters, CounterState } from "./counters.ts";

const VERSION = 1;
const MAX_BYTES = 8 * 1024 * 1024;
/** A crash loses the counts of this time at most. */
const SAVE_AFTER_MS = 1_000;

export interface CounterFileOptions {
  readonly file: string;
  readonly counters: Counters;
  readonly report: Report;
}

export class CounterFile {
  readonly #options: CounterFileOptions;
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<void> = Promise.resolve();
  /** The last problem, which is reported once. */
  #problem: string | undefined;

  constructor(options: CounterFileOptions) {
    this.#options = options;
  }

  /** Something was counted: the file is written soon. */
  changed(): void {
    this.#timer ??= setTimeout(() => void this.save(), SAVE_AFTER_MS).unref();
  }

  /** Merges the counters with the file. Never rejects: a gateway that cannot save its counters still counts. */
  save(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return (this.#saving = this.#saving.then(() => this.#save()));
  }

  async #save(): Promise<void> {
    const { file, counters } = this.#options;
    try {
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await withFileLock(file, async () => {
        await removeLeftovers(file);
        const saved = await this.#read();
        const merged = counters.merge(saved);
        // An empty file says no more than none.
        if (merged.length + saved.length === 0) return;
        const text = JSON.stringify({ version: VERSION, counters: merged });
        await writeAtomic(file, Buffer.from(`${text}\n`), { mode: 0o600 });
      });
      this.#problem = undefined;
    } catch (thrown) {
      this.#warn(
        `the budget counters cannot be saved: ${toPortolanError(thrown).message}`,
        "Correct the cause. Until the gateway can read and write the file, a restart of the gateway loses the amounts that the gateway has counted since the last save.",
      );
    }
  }

  async #read(): Promise<readonly CounterState[]> {
    const { file } = this.#options;
    let text: string;
    try {
      const { size, mode } = await stat(file);
      if (size > MAX_BYTES) throw new Error(`the file has ${size} bytes, but the limit is ${MAX_BYTES}`);
      if (process.platform !== "win32" && (mode & 0o077) !== 0) await chmod(file, 0o600);
      text = await readFile(file, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
    const states = parse(text);
    if (states === undefined)
      this.#warn(
        "the file with the budget counters is damaged",
        "The gateway ignores the amounts in the file, and writes a new file.",
      );
    return states ?? [];
  }

  #warn(message: string, hint: string): void {
    if (this.#problem === message) return;
    this.#problem = message;
    const { file, report } = this.#options;
    report({
      code: "FILE_FAILED",
      severity: "warning",
      message,
      file,
      hint,
    });
  }
}

/** Undefined for a text that is not the content of such a file. */
function parse(text: string): readonly CounterState[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value) || value.version !== VERSION || !Array.isArray(value.counters)) return undefined;
  return (value.counters as unknown[]).filter(isState);
}

function isState(value: unknown): value is CounterState {
  if (!isObject(value)) return false;
  const { budget, kind, caller, since, periodMs, used } = value;
  const areNumbers = [since, periodMs, used].every((one) => typeof one === "number" && one >= 0);
  const isKind = kind === "calls" || kind === "cost";
  return areNumbers && isKind && typeof budget === "string" && typeof caller === "string";
}
