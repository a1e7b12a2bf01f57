// Audit log: an append-only file of lines in hash-chained groups. The lines of 50 milliseconds are one group: they are written and
// flushed to the disk together. The anchor in another folder follows each flush.

import {
  closeSync,
  fdatasync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { holdFileLock } from "../base/files/file-lock.ts";
import { type Diagnostic, PortolanError, type Report } from "../errors/index.ts";
import type { AuditSettings } from "../model/index.ts";
import { atExit } from "../process/index.ts";
import { type Anchor, AnchorFile } from "./anchor.ts";
import { type AuditFolders, chainFiles, chainName, currentName, MAX_CHAINS, rotatedName } from "./folders.ts";
import { type Entry, entryText, type Head, START } from "./line.ts";
import { PendingLines } from "./pending-lines.ts";
import { readEnd } from "./read-end.ts";
import { anchorPath, missingRecords } from "./verify.ts";

export interface AuditLogOptions {
  readonly folders: AuditFolders;
  readonly settings?: AuditSettings;
  readonly report: Report;
  /** Called with the diagnostics that are over: the log can be written again. */
  readonly forget?: (isOver: (diagnostic: Diagnostic) => boolean) => void;
}

const MAX_BYTES = 64 * 1024 * 1024;
/** A write waits for this long, so that one system call writes many lines under load. A killed process loses no more. */
const WRITE_MS = 50;
/** A flush waits for this long, or for this many lines, so that one flush serves them all. */
const FLUSH_MS = 100;
const FLUSH_LINES = 5_000;
/** Lines that are kept while the disk accepts none. */
const MAX_WAITING = 10_000;
/** After a failure, the waiting lines are written at the next attempt, also without another line. */
const RETRY_MS = 500;

const flushFile = promisify(fdatasync);

/** Opens the first chain of the folder that no other gateway writes. Throws FILE_FAILED if the folder cannot be used. */
export async function openAuditLog(options: AuditLogOptions): Promise<AuditLog> {
  const { log } = options.folders;
  try {
    mkdirSync(log, { recursive: true, mode: 0o700 });
    for (let slot = 1; slot <= MAX_CHAINS; slot += 1) {
      const opened = await tryChain(chainName(slot), options);
      if (opened !== undefined) return opened;
    }
    throw new PortolanError(
      "BUSY",
      `the audit log ${log} cannot be opened: ${MAX_CHAINS} gateways already write to it`,
      {
        hint: "Stop one of these gateways, or set another audit.folder in portolan.yaml.",
      },
    );
  } catch (error) {
    if (error instanceof PortolanError) throw error;
    throw new PortolanError(
      "FILE_FAILED",
      `the audit log ${log} cannot be used: ${(error as Error).message}`,
      {
        cause: error,
        hint: "Set audit.folder and audit.anchors in portolan.yaml to folders that this user can write.",
      },
    );
  }
}

/** Undefined if another gateway writes this chain. */
async function tryChain(chain: string, options: AuditLogOptions): Promise<AuditLog | undefined> {
  const release = await holdFileLock(join(options.folders.log, chain));
  if (release === undefined) return undefined;
  try {
    return await AuditLog.open(chain, options, release);
  } catch (error) {
    await release();
    throw error;
  }
}

export class AuditLog {
  readonly path: string;
  readonly #chain: string;
  readonly #options: AuditLogOptions;
  readonly #anchor: AnchorFile;
  readonly #release: () => Promise<void>;
  readonly #maxBytes: number;
  /** Writes the lines of the last moment when this process exits without `close()`. */
  readonly #offExit = atExit(() => this.#write());
  #fd: number;
  #bytes: number;
  /** The line before the first one that is kept. */
  #first: Head;
  readonly #pending: PendingLines;
  #unflushed = 0;
  /** Full files that are still open, because they are not flushed yet. */
  readonly #full: number[] = [];
  /** The full file was renamed, and the next one could not be opened yet. */
  #isRenamed = false;
  #timer: NodeJS.Timeout | undefined;
  #isWriteScheduled = false;
  #flushing: Promise<void> = Promise.resolve();
  /** Ends when no old file is being removed. */
  #pruning: Promise<void> = Promise.resolve();
  /** The last attempt to write succeeded; the lines may not be flushed yet. */
  #isWritable = true;
  /** Set from the first failure until lines are on the disk again: the number of the last line before it. */
  #failedAfter: number | undefined;
  #retry: NodeJS.Timeout | undefined;
  #lost = 0;
  #isClosed = false;
  #closing: Promise<void> | undefined;

  private constructor(
    chain: string,
    options: AuditLogOptions,
    anchor: AnchorFile,
    release: () => Promise<void>,
    opened: { fd: number; bytes: number; head: Head; first: Head },
  ) {
    this.#chain = chain;
    this.#options = options;
    this.#anchor = anchor;
    this.#release = release;
    this.path = join(options.folders.log, currentName(chain));
    this.#maxBytes = options.settings?.maxBytes ?? MAX_BYTES;
    this.#fd = opened.fd;
    this.#bytes = opened.bytes;
    this.#pending = new PendingLines(opened.head);
    this.#first = opened.first;
  }

  static async open(
    chain: string,
    options: AuditLogOptions,
    release: () => Promise<void>,
  ): Promise<AuditLog> {
    const { folders, report } = options;
    const anchorFile = await AnchorFile.open(anchorPath(folders.anchors, chain));
    const anchor = anchorFile.read();
    const path = join(folders.log, currentName(chain));
    const files = (await chainFiles(folders.log)).get(chain) ?? [];
    const end = await readEnd(files);
    // The anchor exists before the first file, so that a file without an anchor is never the rest of a crash.
    if (files.length === 0 && anchor === undefined) anchorFile.create();
    const head = end.head ?? START;
    const missing = end.isChanged
      ? "its last line was changed"
      : anchor === undefined
        ? files.length === 0
          ? undefined
          : `its anchor was missing or damaged, so records after record ${head.n} may be missing`
        : missingSince(anchor, head);
    const fd = openSync(path, "a+", 0o600);
    const tornBytes = files.at(-1) === path ? end.tornBytes : 0;
    // What another program wrote stays in the file for the verification.
    if (missing === undefined) ftruncateSync(fd, fstatSync(fd).size - tornBytes);
    else endLine(fd);
    const log = new AuditLog(chain, options, anchorFile, release, {
      fd,
      bytes: fstatSync(fd).size,
      // The chain goes on from the anchor, so that the gap stays visible.
      head: missing === undefined ? head : (anchor?.last ?? head),
      first: anchor?.first ?? START,
    });
    if (missing !== undefined)
      report({
        code: "AUDIT_DAMAGED",
        severity: "error",
        message: `something other than Portolan changed the audit log ${path}, or its anchor (the stored hash of the last record): ${missing}`,
        hint: "See which records are affected: portolan audit calls --verify",
      });
    log.append({
      type: "opened",
      time: new Date().toISOString(),
      pid: process.pid,
      ...(missing !== undefined ? { damaged: missing } : tornBytes > 0 ? { cutBytes: tornBytes } : {}),
    });
    await log.sync();
    return log;
  }

  /** Adds a line. It is written and flushed together with others. */
  append(entry: Entry): void {
    this.appendText(entryText(entry));
  }

  /** Adds a line whose entry is JSON already. */
  appendText(text: string): void {
    if (this.#isClosed) return;
    if (this.#pending.count >= MAX_WAITING) this.#lost += 1;
    else this.#pending.add(text);
    if (this.#isWriteScheduled || this.#retry !== undefined) return;
    this.#isWriteScheduled = true;
    setTimeout(() => {
      // The descriptor of a closed log may belong to another file.
      if (this.#isClosed) return;
      this.#write();
      this.#scheduleFlush();
    }, WRITE_MS).unref();
  }

  /** Resolves when every line so far is on the disk. Rejects if it cannot be written. */
  async sync(): Promise<void> {
    this.#write();
    if (this.#pending.count > 0)
      throw new PortolanError("AUDIT_FAILED", `the audit log ${this.path} cannot be written`);
    await this.#flush();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.sync().catch(() => {});
    await this.#pruning;
    this.append({ type: "closed", time: new Date().toISOString() });
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#retry);
    try {
      await this.sync();
      this.#writeAnchor(true);
    } catch (error) {
      this.#failed(error);
    } finally {
      await this.#flushing.catch(() => {});
      this.#offExit();
      for (const fd of [...this.#full, this.#fd]) closeSync(fd);
      this.#anchor.close();
      await this.#release();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Writes the waiting lines. A write that fails is undone, and tried again later. */
  #write(): void {
    this.#isWriteScheduled = false;
    try {
      if (this.#pending.count > 0) this.#checkFile();
      while (this.#pending.count > 0) this.#writeSome();
      this.#isWritable = true;
      this.#noteLost();
    } catch (error) {
      this.#isWritable = false;
      this.#failed(error);
      try {
        ftruncateSync(this.#fd, this.#bytes);
      } catch {
        // The next start cuts the incomplete line.
      }
    }
  }

  /** Continues in the file at the path if another program replaced, removed or shortened the file. */
  #checkFile(): void {
    if (this.#isRenamed) return;
    const found = statSync(this.path, { throwIfNoEntry: false });
    const own = fstatSync(this.#fd);
    const isSame = found?.ino === own.ino && found.dev === own.dev;
    if (isSame && found.size >= this.#bytes) return;
    const damaged = isSame
      ? "it was shortened"
      : `its file was ${found === undefined ? "removed" : "replaced"}`;
    if (!isSame) {
      const next = openSync(this.path, "a+", 0o600);
      this.#full.push(this.#fd);
      this.#fd = next;
    }
    endLine(this.#fd);
    this.#bytes = fstatSync(this.#fd).size;
    this.append({ type: "opened", time: new Date().toISOString(), pid: process.pid, damaged });
    this.#options.report({
      code: "AUDIT_DAMAGED",
      severity: "error",
      message: `something other than Portolan changed the audit log ${this.path} while the gateway ran: ${damaged}`,
      hint: "See which records are affected: portolan audit calls --verify. Other programs must not edit or rotate this file: audit.max_size and audit.keep in portolan.yaml limit its size.",
    });
  }

  /** Writes as many lines as fit into the file and into a group. An empty file takes a line of any size. */
  #writeSome(): void {
    const fitting = this.#pending.fitting(this.#maxBytes - this.#bytes);
    if (fitting === undefined && this.#bytes > 0) return this.#rotate();
    const group = fitting ?? this.#pending.first();
    let at = 0;
    while (at < group.bytes.length) at += writeSync(this.#fd, group.bytes, at);
    this.#bytes += group.bytes.length;
    this.#unflushed += group.head.n - this.#pending.written.n;
    this.#pending.remove(group);
  }

  /** Records the number of calls that were lost while the disk was full. */
  #noteLost(): void {
    if (this.#lost === 0) return;
    const lost = this.#lost;
    this.#lost = 0;
    this.append({ type: "lost", time: new Date().toISOString(), records: lost });
  }

  #scheduleFlush(): void {
    if (this.#unflushed >= FLUSH_LINES) return void this.#flush().catch(() => {});
    if (this.#unflushed === 0 || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#flush().catch(() => {});
    }, FLUSH_MS).unref();
  }

  /** One flush after the other; a flush covers all lines that were written before it began. */
  #flush(): Promise<void> {
    const flush = async (): Promise<void> => {
      const count = this.#unflushed;
      if (count === 0 && this.#full.length === 0) return;
      const [head, full, current] = [this.#pending.written, [...this.#full], this.#fd];
      this.#unflushed = 0;
      try {
        for (const fd of full) {
          await flushFile(fd);
          closeSync(fd);
          this.#full.splice(this.#full.indexOf(fd), 1);
        }
        await flushFile(current);
        this.#writeAnchor(false, head);
        if (this.#isWritable) this.#recovered();
      } catch (error) {
        // The lines stay unflushed, so that no later flush claims them.
        this.#unflushed += count;
        this.#failed(error);
        throw error;
      }
    };
    this.#flushing = this.#flushing.then(flush, flush);
    return this.#flushing;
  }

  #writeAnchor(closed: boolean, last: Head = this.#pending.written): void {
    this.#anchor.write({ last, first: this.#first, closed, time: new Date().toISOString() });
  }

  #rotate(): void {
    const { log } = this.#options.folders;
    try {
      renameSync(this.path, join(log, rotatedName(this.#chain, this.#pending.written.n)));
    } catch (error) {
      // An earlier rotation renamed the file, but could not open the next one.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    this.#isRenamed = true;
    const next = openSync(this.path, "a+", 0o600);
    this.#isRenamed = false;
    // The old file is flushed in the background; a flush that is under way keeps its file open.
    this.#full.push(this.#fd);
    this.#fd = next;
    this.#bytes = 0;
    this.#flush().catch(() => {});
    this.#pruning = this.#pruning.then(() => this.#prune());
  }

  /** Removes the oldest full files beyond the setting `keep`. */
  async #prune(): Promise<void> {
    const { settings, folders } = this.#options;
    if (settings?.keep === undefined || this.#isClosed) return;
    try {
      const files = (await chainFiles(folders.log)).get(this.#chain) ?? [];
      const full = files.filter((file) => basename(file) !== currentName(this.#chain));
      for (const file of full.slice(0, Math.max(0, full.length - settings.keep))) {
        const { head } = await readEnd([file]);
        if (head === undefined) continue;
        this.#first = head;
        // The anchor says where the log begins, before the file is gone.
        this.#writeAnchor(false);
        rmSync(file);
        this.append({ type: "pruned", time: new Date().toISOString(), through: head.n });
      }
    } catch (error) {
      this.#options.report({
        code: "FILE_FAILED",
        severity: "error",
        message: `an old file of the audit log ${this.path} cannot be removed: ${(error as Error).message}`,
        hint: "The gateway still serves and records calls. It tries again when the present file is full.",
      });
    }
  }

  #failed(error: unknown): void {
    if (!this.#isClosed) this.#retry ??= setTimeout(() => this.#tryAgain(), RETRY_MS).unref();
    if (this.#failedAfter !== undefined) return;
    this.#failedAfter = this.#pending.written.n;
    this.#options.report({
      code: "AUDIT_FAILED",
      severity: "error",
      message: `the audit log ${this.path} cannot be written: ${(error as Error).message}`,
      hint: "The gateway still serves calls, except calls that need an approval. It keeps up to 10000 records in memory, and writes them when the file can be written again. Records above this number are lost. Correct the cause before you stop the gateway: records in memory are lost when it ends.",
    });
  }

  #tryAgain(): void {
    this.#retry = undefined;
    this.#write();
    this.#flush().catch(() => {});
  }

  #recovered(): void {
    if (this.#failedAfter === undefined) return;
    const count = this.#pending.written.n - this.#failedAfter;
    const written = count === 1 ? "1 waiting record was written" : `${count} waiting records were written`;
    this.#failedAfter = undefined;
    this.#options.report({
      code: "AUDIT_FAILED",
      severity: "warning",
      message: `the audit log ${this.path} can be written again; ${written}`,
    });
    this.#options.forget?.(({ code }) => code === "AUDIT_FAILED");
  }
}

/** The next line must not become a part of an incomplete one. */
function endLine(fd: number): void {
  const { size } = fstatSync(fd);
  if (size === 0) return;
  const last = Buffer.alloc(1);
  readSync(fd, last, 0, 1, size - 1);
  if (last.toString() !== "\n") writeSync(fd, "\n");
}

/** How the end of the log contradicts its anchor; undefined if it does not. */
function missingSince({ last, closed }: Anchor, head: Head): string | undefined {
  if (head.n < last.n) return `${missingRecords(head.n + 1, last.n)} at its end`;
  if (head.n === last.n)
    return head.h === last.h ? undefined : `record ${last.n} is not the one that was written`;
  return closed
    ? `records after record ${last.n} were added after the gateway had closed the log`
    : undefined;
}
