import { createHash } from "node:crypto";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Diagnostic } from "../errors/index.ts";
import type { AuditSettings } from "../model/index.ts";
import { CallObservers } from "../telemetry/index.ts";
import { type Anchor, AnchorFile } from "./anchor.ts";
import { type AuditLog, openAuditLog } from "./audit-log.ts";
import { auditFolders, type AuditFolders, chainFiles } from "./folders.ts";
import { createAuditObserver } from "./observer.ts";
import { readCalls } from "./read.ts";
import { ChainVerifier, FileVerifier, verifyAudit } from "./verify.ts";

let top: string;
let folders: AuditFolders;
let reported: Diagnostic[];

beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), "portolan-audit-"));
  folders = { log: join(top, "log"), anchors: join(top, "anchors") };
  reported = [];
});

afterEach(() => rmSync(top, { recursive: true, force: true }));

function open(settings: AuditSettings = {}): Promise<AuditLog> {
  return openAuditLog({ folders, settings, report: (diagnostic) => reported.push(diagnostic) });
}

function append(log: AuditLog, count: number, caller = "ann"): void {
  for (let at = 0; at < count; at += 1)
    log.append({
      type: "call",
      time: new Date(1e12 + at * 1_000).toISOString(),
      id: `x-${at}`,
      method: "tools/call",
      target: `tööl-${at % 7}`,
      caller,
      outcome: at % 5 === 0 ? "error" : "ok",
      durationMs: at,
    });
}

async function written(count: number, settings: AuditSettings = {}): Promise<void> {
  await using log = await open(settings);
  append(log, count);
}

/** Writes groups of so many calls. */
async function writtenGroups(sizes: readonly number[], settings: AuditSettings = {}): Promise<void> {
  await using log = await open(settings);
  for (const size of sizes) {
    append(log, size);
    await log.sync();
  }
}

async function problems(): Promise<string[]> {
  const chains = await verifyAudit(folders);
  return chains.flatMap((chain) => chain.problems.map(({ message }) => message));
}

const logFile = (name = "calls.jsonl"): string => join(folders.log, name);

test("an unchanged log stays intact after restarts and rotations", async () => {
  await written(50);
  await written(50, { maxBytes: 4_000 });
  const [chain] = await verifyAudit(folders);
  // Each run has a line for its start and one for its end.
  expect(chain).toMatchObject({ chain: "calls", records: 104, problems: [], last: { n: 104 } });
  expect(chain?.files).toBeGreaterThan(3);
  expect(reported).toEqual([]);
});

test("readCalls filters by time, caller, tool and outcome, and its limit keeps the newest calls", async () => {
  await using log = await open();
  append(log, 20);
  append(log, 3, "bob");
  await log.sync();
  const count = async (filter: object): Promise<number> => (await readCalls(folders, filter, 100)).matched;
  expect(await count({})).toBe(23);
  expect(await count({ caller: "bob" })).toBe(3);
  expect(await count({ caller: "bo" })).toBe(0);
  expect(await count({ tool: "tööl-3" })).toBe(3);
  expect(await count({ outcome: "error" })).toBe(5);
  expect(await count({ since: new Date(1e12 + 15_000) })).toBe(5);
  const { calls, matched } = await readCalls(folders, { caller: "ann" }, 4);
  expect([matched, calls.map(({ id }) => id)]).toEqual([20, ["x-16", "x-17", "x-18", "x-19"]]);
});

test("a record is written when sync() resolves, soon without sync(), and when the process exits", async () => {
  await using log = await open();
  const lines = (): number => readFileSync(log.path, "utf8").split("\n").length;
  append(log, 1);
  await log.sync();
  expect(lines()).toBe(3);
  append(log, 1);
  await vi.waitFor(() => expect(lines()).toBe(4));
  append(log, 1);
  for (const listener of process.listeners("exit")) if (listener.name === "runAll") listener(0);
  expect(lines()).toBe(5);
});

test("two gateways of one workspace write separate chains", async () => {
  await using first = await open();
  await using second = await open();
  expect([first, second].map(({ path }) => path)).toEqual([logFile(), logFile("calls-2.jsonl")]);
  append(first, 3);
  append(second, 2, "bob");
  await Promise.all([first.sync(), second.sync()]);
  expect((await verifyAudit(folders)).map(({ chain, problems: found }) => [chain, found])).toEqual([
    ["calls", []],
    ["calls-2", []],
  ]);
  expect((await readCalls(folders, { caller: "bob" }, 9)).matched).toBe(2);
});

test("an incomplete line after a crash is removed, and the log records the removal", async () => {
  const log = await open();
  append(log, 3);
  await log.sync();
  // A process that is killed leaves its lock and half of a line.
  appendFileSync(log.path, '{"n":5,"prev":"abc');
  rmSync(join(folders.log, "calls.lock"));
  expect(await problems()).toEqual([]);
  await using again = await open();
  expect(again.path).toBe(log.path);
  const lines = readFileSync(again.path, "utf8").trim().split("\n");
  expect(JSON.parse(lines[4] ?? "")).toMatchObject({ n: 5, type: "opened", cutBytes: 18 });
  expect(await problems()).toEqual([]);
});

test("a log that was shortened while no gateway ran is reported at the start and by verification", async () => {
  await written(10);
  const text = readFileSync(logFile(), "utf8");
  truncateSync(logFile(), text.slice(0, -200).lastIndexOf("\n") + 1);
  await using log = await open();
  expect(reported).toMatchObject([{ code: "AUDIT_DAMAGED", severity: "error" }]);
  append(log, 1);
  await log.sync();
  expect(await problems()).not.toEqual([]);
});

test.each([
  ["its file was removed", "missing", (): void => rmSync(logFile())],
  ["it was shortened", "missing", (): void => truncateSync(logFile(), 0)],
  [
    "its file was replaced",
    "it is not a complete record of an audit log",
    (): void => {
      // As `sed -i` does it, here with an incomplete last line.
      writeFileSync(`${logFile()}.new`, readFileSync(logFile(), "utf8").slice(0, -20));
      renameSync(`${logFile()}.new`, logFile());
    },
  ],
])(
  "damage while a gateway runs is reported once, and the log continues at its path: %s",
  async (damaged, shown, harm) => {
    const log = await open();
    append(log, 10);
    await log.sync();
    harm();
    append(log, 3);
    await log.sync();
    append(log, 3);
    await log.close();
    expect(reported).toMatchObject([
      {
        code: "AUDIT_DAMAGED",
        message: expect.stringContaining(damaged),
        hint: expect.stringContaining("audit.keep"),
      },
    ]);
    // The six calls, the lines of the damage and of the end.
    const lines = readFileSync(logFile(), "utf8").trim().split("\n").slice(-8);
    expect(lines.map((line) => (JSON.parse(line) as { n: number }).n)).toEqual([
      12, 13, 14, 15, 16, 17, 18, 19,
    ]);
    expect(await problems()).toEqual(
      expect.arrayContaining([expect.stringContaining(shown), expect.stringContaining(damaged)]),
    );
    reported = [];
    await written(1);
    expect(reported).toEqual([]);
  },
);

test.each([
  ["missing", (): void => rmSync(folders.anchors, { recursive: true })],
  ["damaged", (): void => writeFileSync(join(folders.anchors, "calls.anchor"), "{}")],
])("an anchor that is %s is reported once at the start, and later by verification", async (_state, harm) => {
  await writtenGroups([4, 6]);
  // Two whole groups are left, so the lines alone are intact.
  writeFileSync(logFile(), `${readFileSync(logFile(), "utf8").split("\n").slice(0, 5).join("\n")}\n`);
  harm();
  const lost = "its anchor was missing or damaged, so records after record 5 may be missing";
  await written(1);
  expect(reported).toMatchObject([{ code: "AUDIT_DAMAGED", message: expect.stringContaining(lost) }]);
  await written(1);
  expect(reported).toHaveLength(1);
  const [chain] = await verifyAudit(folders);
  expect(chain?.problems).toEqual([
    {
      ...{ chain: "calls", file: "calls.jsonl", line: 6 },
      message: `the gateway recorded here that the log was damaged: ${lost}`,
    },
  ]);
});

test("a log that was emptied together with its anchor is reported, but a crash at the first start is not", async () => {
  await written(1);
  truncateSync(logFile(), 0);
  rmSync(folders.anchors, { recursive: true });
  await written(1);
  expect(reported).toMatchObject([{ code: "AUDIT_DAMAGED" }]);
  reported = [];
  rmSync(folders.log, { recursive: true });
  rmSync(folders.anchors, { recursive: true });
  // A process that is killed before its first line is whole leaves the anchor of an empty log.
  const anchor = await AnchorFile.open(join(folders.anchors, "calls.anchor"));
  anchor.create();
  anchor.close();
  mkdirSync(folders.log);
  writeFileSync(logFile(), '{"n":1,"prev":');
  await written(1);
  expect([reported, await problems()]).toEqual([[], []]);
});

test("the names of the default folders depend on the workspace, not on the home folder", async () => {
  const namesIn = async (home: string): Promise<string[]> => {
    vi.stubEnv("XDG_DATA_HOME", join(home, "data"));
    vi.stubEnv("XDG_CONFIG_HOME", join(home, "config"));
    return Object.values(await auditFolders(top, {})).map((folder) => basename(folder));
  };
  try {
    const [one, other] = [await namesIn(join(top, "one")), await namesIn(join(top, "other"))];
    expect(other).toEqual(one);
  } finally {
    vi.unstubAllEnvs();
  }
});

test("a changed last line is reported as changed, not as missing records", async () => {
  await written(10);
  const text = readFileSync(logFile(), "utf8");
  const start = text.lastIndexOf("\n", text.length - 2) + 1;
  writeFileSync(logFile(), `${text.slice(0, start)}${text.slice(start).replace('"closed"', '"opened"')}`);
  await using log = await open();
  expect(reported).toMatchObject([
    { code: "AUDIT_DAMAGED", message: expect.stringContaining("its last line was changed") },
  ]);
  await log.sync();
  expect(await problems()).not.toEqual([]);
});

test("an entry with long texts is truncated, so that its line can be verified", async () => {
  const long = "ä".repeat(50_000);
  {
    await using log = await open();
    const entry = { type: "call", time: new Date().toISOString(), method: "tools/call", outcome: "ok" };
    log.append({ ...entry, caller: "ann", target: long, decision: { by: long } });
    log.append({ ...entry, ...Object.fromEntries(Array.from({ length: 99 }, (_, at) => [`f${at}`, long])) });
  }
  const lines = readFileSync(logFile(), "utf8").trimEnd().split("\n");
  for (const line of lines) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(64 * 1024);
  expect(JSON.parse(lines[1] ?? "")).toMatchObject({ caller: "ann", target: "ä".repeat(1_000), cut: true });
  expect(JSON.parse(lines[2] ?? "")).toMatchObject({ type: "call", cut: true });
  expect(await problems()).toEqual([]);
});

test("the observer truncates every text that a client sends", async () => {
  await using log = await open();
  const long = "x".repeat(5_000);
  const calls = new CallObservers();
  calls.add(createAuditObserver(log, (text) => text));
  const observation = calls.begin({
    ...{ method: "tools/call", params: { name: long }, requestId: 1, caller: "ann" },
    ...{ client: { name: long, version: "1" }, transport: "http", era: "modern", revision: "2026-07-28" },
  });
  observation.routed("one", long);
  observation.finish();
  await log.sync();
  const line = readFileSync(logFile(), "utf8").trimEnd().split("\n").at(-1) ?? "";
  const cut = "x".repeat(500);
  expect(JSON.parse(line)).toMatchObject({ target: cut, tool: cut, client: cut });
});

test("old files beyond `keep` are removed, and the remaining log stays intact", async () => {
  const log = await open({ maxBytes: 2_000, keep: 2 });
  for (let at = 0; at < 10; at += 1) {
    append(log, 8);
    await log.sync();
  }
  await log.close();
  expect(readdirSync(folders.log).filter((name) => /\.\d+\.jsonl$/.test(name)).length).toBeLessThanOrEqual(3);
  expect(await problems()).toEqual([]);
  const [oldest = ""] = readdirSync(folders.log).filter((name) => name.endsWith(".jsonl"));
  rmSync(logFile(oldest));
  expect(await problems()).not.toEqual([]);
});

test("a folder that cannot be created is an error", async () => {
  writeFileSync(folders.anchors, "");
  await expect(open()).rejects.toMatchObject({ code: "FILE_FAILED" });
  rmSync(folders.log, { recursive: true });
  writeFileSync(folders.log, "");
  await expect(open()).rejects.toMatchObject({ code: "FILE_FAILED" });
});

describe("verification after tampering", () => {
  /** A generator with a fixed seed, so that a failure can be repeated. */
  function randoms(seed: number): (below: number) => number {
    let state = seed;
    return (below) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
  }

  type Files = ReadonlyMap<string, Buffer>;

  const linesOf = (bytes: Buffer): string[] => bytes.toString("latin1").split("\n").slice(0, -1);
  const toFile = (lines: readonly string[]): Buffer =>
    Buffer.from(lines.map((line) => `${line}\n`).join(""), "latin1");

  /** Changes of one file; undefined removes it. */
  function changes(
    random: (below: number) => number,
  ): Record<string, (bytes: Buffer, lines: string[]) => Buffer | undefined> {
    return {
      changedByte(bytes) {
        const changed = Buffer.from(bytes);
        const at = random(changed.length);
        changed[at] = ((changed[at] ?? 0) + 1 + random(255)) % 256;
        return changed;
      },
      removedLine: (_bytes, lines) => toFile(lines.toSpliced(random(lines.length), 1)),
      swappedLines(_bytes, lines) {
        if (lines.length < 2) return undefined;
        const a = random(lines.length);
        const b = (a + 1 + random(lines.length - 1)) % lines.length;
        [lines[a], lines[b]] = [lines[b] ?? "", lines[a] ?? ""];
        return toFile(lines);
      },
      repeatedLine: (_bytes, lines) =>
        toFile(lines.toSpliced(random(lines.length + 1), 0, lines[random(lines.length)] ?? "")),
      insertedSpace(bytes) {
        const at = random(bytes.length + 1);
        return Buffer.concat([bytes.subarray(0, at), Buffer.from(" "), bytes.subarray(at)]);
      },
      truncatedBytes: (bytes) => bytes.subarray(0, random(bytes.length)),
      truncatedLines: (_bytes, lines) => toFile(lines.slice(0, random(lines.length))),
      removedFile: () => undefined,
      removedField(_bytes, lines) {
        const at = random(lines.length);
        lines[at] = (lines[at] ?? "").replace(/"type":"\w+",/, "");
        return toFile(lines);
      },
      removedGroup(_bytes, lines) {
        const ends = groupEnds(lines);
        const at = random(ends.length);
        const start = at === 0 ? 0 : (ends[at - 1] ?? 0) + 1;
        return toFile(lines.toSpliced(start, (ends[at] ?? 0) - start + 1));
      },
      // An attacker who knows the format rewrites a line and computes the hash of its group again.
      rewrittenLine(_bytes, lines) {
        const at = random(lines.length);
        lines[at] = (lines[at] ?? "").replace(/"time":"[^"]*"/, `"time":"eve-${random(1_000)}"`);
        return toFile(rehashed(lines, at));
      },
      // The same with two groups that become one.
      joinedGroups(_bytes, lines) {
        const end = groupEnds(lines).at(0) ?? 0;
        if (end + 1 === lines.length) return undefined;
        lines[end] = (lines[end] ?? "").replace(END, "}");
        return toFile(rehashed(lines, end));
      },
    };
  }

  const END = /,"prev":"([\w-]{43})","h":"[\w-]{43}"\}$/;

  function groupEnds(lines: readonly string[]): number[] {
    return lines.flatMap((line, at) => (END.test(line) ? [at] : []));
  }

  /** Computes the hash of the group of a line again. */
  function rehashed(lines: readonly string[], at: number): string[] {
    const ends = groupEnds(lines);
    const end = ends.find((each) => each >= at) ?? lines.length - 1;
    const start = (ends.findLast((each) => each < at) ?? -1) + 1;
    const prev = (END.exec(lines[start - 1] ?? "")?.[0] ?? "").slice(-45, -2) || "A".repeat(43);
    const group = [...lines.slice(start, end), (lines[end] ?? "").replace(END, "")].join("\n");
    const covered = `${group},"prev":"${prev}"`;
    const hash = createHash("sha256").update(covered, "latin1").digest("base64url");
    return lines.with(end, `${(lines[end] ?? "").replace(END, "")},"prev":"${prev}","h":"${hash}"}`);
  }

  function isIntact(files: Files, anchor: Anchor | undefined): boolean {
    const chain = new ChainVerifier("calls", anchor);
    for (const [name, bytes] of files) {
      const file = new FileVerifier(chain, name);
      file.push(bytes.toString("latin1"));
      file.end();
    }
    return chain.end(files.size).problems.length === 0;
  }

  test("detects each of 1000 random changes", async () => {
    await writtenGroups([1, 7, 2, 9, 1, 12, 3, 8, 5, 1, 11], { maxBytes: 3_000 });
    const paths = (await chainFiles(folders.log)).get("calls") ?? [];
    const files: Files = new Map(paths.map((path) => [basename(path), readFileSync(path)]));
    expect(files.size).toBeGreaterThan(2);
    const anchor = (await AnchorFile.open(join(folders.anchors, "calls.anchor"))).read();
    expect(isIntact(files, anchor)).toBe(true);
    const random = randoms(20_260_728);
    const kinds = Object.entries(changes(random));
    const missed: string[] = [];
    for (let round = 0; round < 1_000; round += 1) {
      const [kind, change] = kinds[round % kinds.length] as (typeof kinds)[number];
      const [name = "", bytes = Buffer.alloc(0)] = [...files][random(files.size)] ?? [];
      const changed = change(bytes, linesOf(bytes));
      const after = new Map(files);
      if (changed === undefined) after.delete(name);
      else after.set(name, changed);
      if (isIntact(after, anchor)) missed.push(`${round} ${kind} ${name}`);
    }
    expect(missed).toEqual([]);
  });

  test("detects an older copy of the log, and a log without its anchor", async () => {
    await written(5);
    const older = readFileSync(logFile());
    await written(5);
    const newer = readFileSync(logFile());
    writeFileSync(logFile(), older);
    expect(await problems()).toEqual(["records 8 to 14 are missing at its end"]);
    writeFileSync(logFile(), newer.subarray(0, newer.lastIndexOf("\n", newer.length - 2) + 1));
    expect(await problems()).toEqual(["record 14 is missing at its end"]);
    writeFileSync(logFile(), newer);
    expect(await problems()).toEqual([]);
    rmSync(folders.anchors, { recursive: true });
    expect(await problems()).toEqual([
      "its anchor is missing or damaged, so missing records at its end cannot be detected",
    ]);
  });

  test("detects an anchor that was changed without the key", async () => {
    await written(5);
    const anchor = join(folders.anchors, "calls.anchor");
    writeFileSync(anchor, readFileSync(anchor, "utf8").replaceAll('"n":7', '"n":3'));
    expect(await problems()).not.toEqual([]);
  });
});

test("a key with a wrong length is an error that names the file to restore", async () => {
  mkdirSync(folders.anchors, { recursive: true });
  writeFileSync(join(folders.anchors, "key"), "short");
  await expect(open()).rejects.toMatchObject({
    ...{
      code: "FILE_FAILED",
      message: expect.stringMatching(/^the key of the audit log, .*key, has 5 bytes, not/) as string,
    },
    hint: expect.stringContaining(`Restore ${join(folders.anchors, "key")} from a backup.`) as string,
  });
});
