// Sessions of the console: random ids in a cookie, of which only keyed hashes are stored, so that they last through restarts.

import { createHmac, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { writeAtomic } from "../../base/files/atomic-write.ts";
import { withFileLock } from "../../base/files/file-lock.ts";
import { isObject } from "../../model/index.ts";

export interface SessionOptions {
  /** The key of the gateway, and its own token in use. A new key or token ends every session. */
  readonly key: Buffer;
  readonly token: () => string;
  /** Where the hashes are stored; without a file, sessions end with the process. */
  readonly file: string | undefined;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

const LIFETIME_MS = 7 * 24 * 60 * 60_000;
/** A person has a few browsers; the oldest session ends when there are more. */
const MAX_SESSIONS = 50;
const MAX_ID = 100;

interface Kept {
  readonly hash: string;
  readonly expires: number;
}

export class Sessions {
  readonly #key: Buffer;
  readonly #token: () => string;
  readonly #file: string | undefined;
  readonly #now: () => number;
  #kept: readonly Kept[] = [];

  private constructor({ key, token, file, now = Date.now }: SessionOptions) {
    this.#key = key;
    this.#token = token;
    this.#file = file;
    this.#now = now;
  }

  static async open(options: SessionOptions): Promise<Sessions> {
    const sessions = new Sessions(options);
    sessions.#kept = await sessions.#read();
    return sessions;
  }

  /** Creates a session and returns its id. The id is always new, so that nobody can prepare it. */
  async create(): Promise<string> {
    const id = randomBytes(32).toString("base64url");
    const added = { hash: this.#hash(id), expires: this.#now() + LIFETIME_MS };
    await this.#change((kept) => [...kept, added].slice(-MAX_SESSIONS));
    return id;
  }

  isValid(id: string | undefined): boolean {
    if (id === undefined || id.length > MAX_ID) return false;
    const hash = this.#hash(id);
    return this.#kept.some((one) => one.hash === hash && one.expires > this.#now());
  }

  async end(id: string): Promise<void> {
    const hash = this.#hash(id.slice(0, MAX_ID));
    await this.#change((kept) => kept.filter((one) => one.hash !== hash));
  }

  /** The time to compare two hashes reveals nothing about an id. */
  #hash(id: string): string {
    const text = `console session ${this.#token()} ${id}`;
    return createHmac("sha256", this.#key).update(text).digest("base64url");
  }

  async #change(change: (kept: readonly Kept[]) => readonly Kept[]): Promise<void> {
    const isCurrent = ({ expires }: Kept): boolean => expires > this.#now();
    const file = this.#file;
    if (file === undefined) {
      this.#kept = change(this.#kept.filter(isCurrent));
      return;
    }
    await withFileLock(file, async () => {
      // Another gateway of the same workspace may have written since.
      this.#kept = change((await this.#read()).filter(isCurrent));
      const text = JSON.stringify({ version: 1, sessions: this.#kept });
      await writeAtomic(file, Buffer.from(`${text}\n`), { mode: 0o600 });
    });
  }

  /** A file that cannot be read or is damaged means that everybody signs in again. */
  async #read(): Promise<readonly Kept[]> {
    if (this.#file === undefined) return this.#kept;
    try {
      const value: unknown = JSON.parse(await readFile(this.#file, "utf8"));
      const sessions = isObject(value) && Array.isArray(value.sessions) ? value.sessions : [];
      return sessions.filter(isKept).slice(-MAX_SESSIONS);
    } catch {
      return [];
    }
  }
}

function isKept(value: unknown): value is Kept {
  return isObject(value) && typeof value.hash === "string" && typeof value.expires === "number";
}
