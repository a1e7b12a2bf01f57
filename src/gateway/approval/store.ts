// Approval store: calls that wait and grants that are not used up, in a private file with a keyed MAC. Every change is on the disk
// before it counts.

import { createHmac, timingSafeEqual } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { removeLeftovers, writeAtomic } from "../../base/files/atomic-write.ts";
import { holdFileLock } from "../../base/files/file-lock.ts";
import { readLimited } from "../../base/files/limited-read.ts";
import { PortolanError, type Report } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import { type ApprovalSubject, type Grant, isSame, type WaitingCall } from "./types.ts";

export interface ApprovalStoreOptions {
  /** Without a file, waiting calls and grants end with the process. */
  readonly file: string | undefined;
  /** The key of the gateway. A new key ends every grant. */
  readonly key: Buffer;
  readonly report: Report;
  readonly now?: () => number;
}

interface State {
  readonly waiting: readonly WaitingCall[];
  readonly grants: readonly Grant[];
}

const EMPTY: State = { waiting: [], grants: [] };
const VERSION = 1;
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_WAITING = 200;
const MAX_WAITING_OF_CALLER = 50;
const MAX_GRANTS = 1_000;
/** Each gateway that runs for the workspace has a file of its own. */
const MAX_FILES = 16;

export class ApprovalStore {
  readonly #options: ApprovalStoreOptions;
  readonly #now: () => number;
  readonly #file: string | undefined;
  readonly #release: () => Promise<void>;
  #state: State = EMPTY;
  /** Changes are made one after the other. */
  #changing: Promise<unknown> = Promise.resolve();

  private constructor(options: ApprovalStoreOptions, file?: string, release = async (): Promise<void> => {}) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#file = file;
    this.#release = release;
  }

  /** A file that was changed from outside is reported and not used. */
  static async open(options: ApprovalStoreOptions): Promise<ApprovalStore> {
    const { file } = options;
    if (file === undefined) return new ApprovalStore(options);
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    for (let slot = 1; slot <= MAX_FILES; slot += 1) {
      const own = slot === 1 ? file : file.replace(/(\.json)?$/, `-${slot}$1`);
      const release = await holdFileLock(own);
      if (release === undefined) continue;
      await removeLeftovers(own);
      const store = new ApprovalStore(options, own, release);
      store.#state = await store.#read(own);
      return store;
    }
    return new ApprovalStore(options);
  }

  get waiting(): readonly WaitingCall[] {
    return this.#current(this.#state).waiting;
  }

  get grants(): readonly Grant[] {
    return this.#current(this.#state).grants;
  }

  /** Throws BUSY when too many calls wait. */
  add(call: WaitingCall): Promise<void> {
    return this.#change((state) => {
      const own = state.waiting.filter(({ caller }) => caller === call.caller).length;
      if (own >= MAX_WAITING_OF_CALLER || state.waiting.length >= MAX_WAITING)
        throw new PortolanError(
          "BUSY",
          `the call was not made: too many calls already wait for approval (${own} of the caller ${call.caller}, ${state.waiting.length} in total)`,
          {
            hint: "To see the waiting calls: portolan approve. Approve or deny some of them, then send this call again.",
          },
        );
      return [{ ...state, waiting: [...state.waiting, call] }, undefined];
    });
  }

  /** Removes a waiting call. False if it was not there any more. */
  remove(id: string): Promise<boolean> {
    return this.#change((state) => {
      const waiting = state.waiting.filter((one) => one.id !== id);
      return [{ ...state, waiting }, waiting.length < state.waiting.length];
    });
  }

  /** Replaces a waiting call by a grant. False if it was not there any more. */
  approve(id: string, toGrant: (call: WaitingCall) => Grant): Promise<boolean> {
    return this.#change((state) => {
      const call = state.waiting.find((one) => one.id === id);
      if (call === undefined) return [state, false];
      const waiting = state.waiting.filter((one) => one !== call);
      return [{ waiting, grants: [...state.grants, toGrant(call)].slice(-MAX_GRANTS) }, true];
    });
  }

  /** The grant for a call. A grant for one call is used up, on the disk too, when this resolves. */
  take(subject: ApprovalSubject): Promise<Grant | undefined> {
    return this.#change((state) => {
      const found = state.grants.filter((grant) => isSame(grant, subject));
      // A grant for some time is used before a grant for one call.
      const grant = found.find(({ once }) => !once) ?? found[0];
      if (grant?.once !== true) return [state, grant];
      return [{ ...state, grants: state.grants.filter((one) => one !== grant) }, grant];
    });
  }

  async close(): Promise<void> {
    await this.#changing;
    await this.#release();
  }

  #change<T>(change: (state: State) => readonly [State, T]): Promise<T> {
    const changed = this.#changing.then(async () => {
      const [state, result] = change(this.#current(this.#state));
      if (state.waiting !== this.#state.waiting || state.grants !== this.#state.grants)
        await this.#write(state);
      this.#state = state;
      return result;
    });
    this.#changing = changed.catch(() => {});
    return changed;
  }

  /** The state without everything that has expired. */
  #current(state: State): State {
    const isCurrent = ({ expires }: { expires: string }): boolean => Date.parse(expires) > this.#now();
    if (state.waiting.every(isCurrent) && state.grants.every(isCurrent)) return state;
    return { waiting: state.waiting.filter(isCurrent), grants: state.grants.filter(isCurrent) };
  }

  async #write(state: State): Promise<void> {
    if (this.#file === undefined) return;
    const text = JSON.stringify(state);
    const content = JSON.stringify({ version: VERSION, state: text, mac: this.#sign(text) });
    try {
      await writeAtomic(this.#file, Buffer.from(`${content}\n`), { mode: 0o600 });
    } catch (error) {
      const message = `the file with the approvals, ${this.#file}, cannot be written: ${(error as Error).message}`;
      throw new PortolanError("FILE_FAILED", message, { cause: error });
    }
  }

  async #read(file: string): Promise<State> {
    let text: string;
    try {
      text = (await readLimited(file, MAX_BYTES)).toString("utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") this.#reject(file, (error as Error).message);
      return EMPTY;
    }
    const state = this.#parse(text);
    if (typeof state !== "string") return state;
    this.#reject(file, state);
    return EMPTY;
  }

  /** A text is the reason why the content is not used. */
  #parse(text: string): State | string {
    let content: unknown;
    try {
      content = JSON.parse(text);
    } catch {
      return "the file is not JSON";
    }
    const { version, state, mac } = isObject(content) ? content : {};
    if (version !== VERSION) return "the file has an unsupported version";
    if (typeof state !== "string" || typeof mac !== "string") return "parts of the file are missing";
    const [given, expected] = [Buffer.from(mac), Buffer.from(this.#sign(state))];
    if (given.length !== expected.length || !timingSafeEqual(given, expected))
      return "another program changed the file, or it was written with an earlier key of the gateway";
    return JSON.parse(state) as State;
  }

  #sign(text: string): string {
    return createHmac("sha256", this.#options.key)
      .update(`approvals ${VERSION}\n${text}`)
      .digest("base64url");
  }

  #reject(file: string, reason: string): void {
    this.#options.report({
      code: "FILE_FAILED",
      severity: "warning",
      file,
      message: `the gateway ignores the approvals in this file: ${reason}`,
      hint: "Calls that were approved before need approval again.",
    });
  }
}
