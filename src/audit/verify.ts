// Verification of an audit log: the hash of every group, its place in the chain, the number of every line, and the end of the chain
// by its anchor.

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { type Anchor, AnchorFile } from "./anchor.ts";
import { anchoredChains, type AuditFolders, chainFiles } from "./folders.ts";
import { type CheckedGroup, GroupReader, type Head, lineNumber, parseLine, START } from "./line.ts";

export interface AuditProblem {
  readonly chain: string;
  readonly file?: string;
  /** The line in the file. */
  readonly line?: number;
  readonly message: string;
}

export interface VerifiedChain {
  readonly chain: string;
  readonly files: number;
  readonly records: number;
  readonly last: Head;
  /** When the last anchor was written; undefined without an anchor. */
  readonly anchoredAt: string | undefined;
  readonly problems: readonly AuditProblem[];
}

/** Problems of one chain that are reported; there may be one for each line. */
const MAX_PROBLEMS = 20;
const MAX_LINE_BYTES = 1024 * 1024;

/** Checks the lines of one chain, one after the other. */
export class ChainVerifier {
  readonly chain: string;
  readonly #anchor: Anchor | undefined;
  readonly #problems: AuditProblem[] = [];
  /** The last group that was read. */
  #last: Head;
  /** The number of the last line that was read. */
  #n: number;
  #group = new GroupReader();
  /** A problem of the group that is being read was reported: it explains a wrong hash. */
  #isGroupDamaged = false;
  #records = 0;
  #hasAnchored: boolean;

  constructor(chain: string, anchor: Anchor | undefined) {
    this.chain = chain;
    this.#anchor = anchor;
    this.#last = anchor?.first ?? START;
    this.#n = this.#last.n;
    this.#hasAnchored = anchor === undefined || anchor.last.n === this.#n;
  }

  /** `line` has one character for each byte, and no line feed. */
  line(line: string, file: string, number: number): void {
    this.#records += 1;
    const expected = this.#n + 1;
    const n = lineNumber(line);
    this.#n = n ?? expected;
    const problem = problemOf(n, expected);
    if (problem !== undefined) this.#groupProblem(problem, file, number);
    if (n !== undefined && this.#anchor?.closed === true && n > this.#anchor.last.n)
      this.#groupProblem("it was added after the log was closed", file, number);
    const damage = damageOf(line);
    if (damage !== undefined)
      this.#problem(`the gateway recorded here that the log was damaged: ${damage}`, file, number);
    const group = this.#group.add(line);
    if (group !== undefined) this.#endGroup(group, file, number);
  }

  #endGroup({ h, prev, isUnchanged }: CheckedGroup, file: string, number: number): void {
    const first = this.#last.n + 1;
    if (!isUnchanged && !this.#isGroupDamaged)
      this.#problem(
        first >= this.#n
          ? "it was changed: its hash does not match"
          : `one of the records ${first} to ${this.#n} was changed: their hash does not match`,
        file,
        number,
      );
    else if (prev !== this.#last.h && !this.#isGroupDamaged)
      this.#problem("it names another hash than that of the records before its group", file, number);
    const anchored = this.#anchor?.last;
    if (this.#n === anchored?.n) {
      if (h === anchored.h) this.#hasAnchored = true;
      else this.#problem("it differs from the record that the anchor names", file, number);
    }
    this.#last = { n: this.#n, h };
    this.#isGroupDamaged = false;
  }

  /** A file ends. `rest` is true if it ends without a line feed; `number` is that of its last line. */
  endFile(hasRest: boolean, file: string, number: number): void {
    const isIncomplete = hasRest || this.#n > this.#last.n;
    const isAnchored =
      this.#anchor === undefined || this.#last.n < this.#anchor.last.n || this.#anchor.closed;
    // A gateway that is writing, or that crashed, leaves a part of a group that no anchor covers.
    if (isIncomplete && isAnchored)
      this.#problem(
        hasRest ? "the line is incomplete" : "the hash of the last records is missing",
        file,
        number,
      );
    this.#n = this.#last.n;
    this.#group = new GroupReader();
    this.#isGroupDamaged = false;
  }

  end(files: number): VerifiedChain {
    const anchored = this.#anchor?.last;
    if (this.#anchor === undefined && this.#records > 0)
      this.#problem("its anchor is missing or damaged, so missing records at its end cannot be detected");
    if (anchored !== undefined && this.#last.n < anchored.n)
      this.#problem(`${missingRecords(this.#last.n + 1, anchored.n)} at its end`);
    else if (!this.#hasAnchored && this.#problems.length === 0)
      this.#problem(`record ${anchored?.n}, which its anchor names, is missing`);
    return {
      chain: this.chain,
      files,
      records: this.#records,
      last: this.#last,
      anchoredAt: this.#anchor?.time,
      problems: this.#problems,
    };
  }

  #groupProblem(message: string, file: string, line: number): void {
    this.#problem(message, file, line);
    this.#isGroupDamaged = true;
  }

  #problem(message: string, file?: string, line?: number): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push({ chain: this.chain, file, line, message });
  }
}

/** `record 7 is missing`, `records 7 to 9 are missing` */
export function missingRecords(first: number, last: number): string {
  return first === last ? `record ${first} is missing` : `records ${first} to ${last} are missing`;
}

/** What is wrong with the number of a line. */
function problemOf(n: number | undefined, expected: number): string | undefined {
  if (n === undefined) return "it is not a complete record of an audit log";
  if (n === expected) return undefined;
  return n > expected
    ? `${missingRecords(expected, n - 1)} before it`
    : `record ${expected} is expected here, not record ${n}`;
}

/** The damage that a gateway recorded at its start. A new anchor hides it, so the record must show it. */
function damageOf(line: string): string | undefined {
  if (!line.includes('"damaged":')) return undefined;
  const { type, damaged } = parseLine(line) ?? {};
  return type === "opened" && typeof damaged === "string" ? damaged : undefined;
}

/** Verifies all chains of an audit log. Anchors are read first: a gateway may be writing. */
export async function verifyAudit({ log, anchors }: AuditFolders): Promise<readonly VerifiedChain[]> {
  const known = await anchoredChains(anchors);
  const read = new Map<string, Anchor | undefined>();
  const hasAnchors = await stat(anchors).catch(() => undefined);
  const anchorOf = async (chain: string): Promise<Anchor | undefined> =>
    hasAnchors === undefined ? undefined : (await AnchorFile.open(anchorPath(anchors, chain))).read();
  for (const chain of known) read.set(chain, await anchorOf(chain));
  const files = await chainFiles(log);
  const chains = [...new Set([...files.keys(), ...known])].toSorted();
  const verified: VerifiedChain[] = [];
  for (const chain of chains) {
    const verifier = new ChainVerifier(chain, read.get(chain));
    const own = files.get(chain) ?? [];
    for (const file of own) await verifyFile(verifier, file);
    verified.push(verifier.end(own.length));
  }
  return verified;
}

export function anchorPath(folder: string, chain: string): string {
  return join(folder, `${chain}.anchor`);
}

async function verifyFile(verifier: ChainVerifier, file: string): Promise<void> {
  const name = basename(file);
  const reader = new FileVerifier(verifier, name);
  for await (const chunk of createReadStream(file, { encoding: "latin1" })) reader.push(chunk as string);
  reader.end();
}

/** Passes the lines of one file to the verifier of its chain. The text has one character for each byte. */
export class FileVerifier {
  readonly #verifier: ChainVerifier;
  readonly #name: string;
  readonly #lines: LineSplitter;
  #number = 0;

  constructor(verifier: ChainVerifier, name: string) {
    this.#verifier = verifier;
    this.#name = name;
    this.#lines = new LineSplitter((line) => verifier.line(line, name, (this.#number += 1)));
  }

  push(text: string): void {
    this.#lines.push(text);
  }

  end(): void {
    const hasRest = this.#lines.rest !== "";
    this.#verifier.endFile(hasRest, this.#name, this.#number + (hasRest ? 1 : 0));
  }
}

/** Splits text into lines. A line that is too long is cut, and is then no line of an audit log. */
class LineSplitter {
  readonly #each: (line: string) => void;
  rest = "";

  constructor(each: (line: string) => void) {
    this.#each = each;
  }

  push(text: string): void {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop() ?? "";
    for (const line of lines) this.#each(line);
    if (this.rest.length <= MAX_LINE_BYTES) return;
    this.#each(this.rest);
    this.rest = "";
  }
}

/** Calls `each` with every whole line of a file, one character for each byte. */
export async function eachLine(file: string, each: (line: string) => void): Promise<void> {
  const lines = new LineSplitter(each);
  for await (const chunk of createReadStream(file, { encoding: "latin1" })) lines.push(chunk as string);
}
