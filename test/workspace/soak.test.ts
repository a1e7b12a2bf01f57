// A workspace under random kills, hangs, list changes and reloads: no call lost or run twice, nothing left behind.
// PORTOLAN_SOAK_SECONDS=600 runs the long test; PORTOLAN_SOAK_SEED changes the random choices.

import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { isPortolanError } from "../../src/errors/index.ts";
import { startHttpServer } from "../fixtures/http-server.mjs";
import { pidsWithEnv, stdioServerPath } from "../fixtures/processes.mjs";
import { startSseServer } from "../fixtures/sse-server.mjs";
import { startWsServer } from "../fixtures/ws-server.mjs";
import { started, until } from "../helpers/connect.ts";
import { declare, type Entry, isRunning, open, type Opened, temporary } from "../helpers/workspace.ts";

const SECONDS = Number(process.env.PORTOLAN_SOAK_SECONDS ?? 12);
const SEED = Number(process.env.PORTOLAN_SOAK_SEED ?? 20_260_728);
const CALLERS = 8;
/** Time limit for recovery: pauses between restarts grow to half a minute. */
const RECOVERY_MS = 75_000;

const TAG = randomUUID();
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Random numbers from 0 up to 1, the same sequence for the same seed (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const random = createRandom(SEED);
const between = (low: number, high: number): number => Math.floor(low + random() * (high - low));
const pick = <T>(list: readonly T[]): T => list[between(0, list.length)] as T;

/** A stdio fixture that logs every call before it runs, so that a kill does not lose the count. */
function recording(folder: string): { entry(alias: string, era: string, more?: object): Entry; log: string } {
  const log = join(folder, "calls.log");
  const recorder = join(folder, "recorder.mjs");
  writeFileSync(
    recorder,
    `import { appendFileSync } from "node:fs";
    const parse = JSON.parse;
    JSON.parse = (...args) => {
      const value = parse(...args);
      if (value?.method === "tools/call") appendFileSync(process.env.LOG, JSON.stringify(value.params.arguments ?? {}) + "\\n");
      return value;
    };`,
  );
  return {
    log,
    entry: (alias, era, more = {}) => ({
      alias,
      transport: "stdio",
      command: process.execPath,
      args: ["--import", pathToFileURL(recorder).href, stdioServerPath, `--era=${era}`],
      env: { LOG: log, SOAK_TAG: TAG, SOAK_ALIAS: `${TAG}-${alias}` },
      ...more,
    }),
  };
}

interface Held {
  readonly files: number;
  readonly listeners: number;
  readonly handles: number;
}

/** Resources of this process: open files, its listeners, handles such as sockets and children. */
function held(): Held {
  const listeners = process.eventNames().map((name) => process.listenerCount(name));
  return {
    files: existsSync("/proc/self/fd") ? readdirSync("/proc/self/fd").length : 0,
    listeners: listeners.reduce((sum, count) => sum + count, 0),
    handles: process.getActiveResourcesInfo().filter((name) => /Wrap$|Server$/.test(name)).length,
  };
}

const isMore = (after: Held, before: Held): boolean =>
  after.files > before.files || after.listeners > before.listeners || after.handles > before.handles;

interface Tally {
  made: number;
  settled: number;
  notFound: number;
  /** Ids of calls that succeeded, and of all that were made. */
  readonly succeeded: Set<string>;
  readonly ids: Set<string>;
  readonly codes: Map<string, number>;
}

/** Calls a random tool of a random server, and counts the result or the error. */
async function callSomething({ workspace }: Opened, aliases: readonly string[], tally: Tally): Promise<void> {
  const id = randomUUID();
  const alias = pick(aliases);
  const [tool, input] = pick<[string, Record<string, unknown>]>([
    ["echo", { text: id }],
    ["echo", { text: id }],
    ["echo", { text: id }],
    ["fail", { message: id }],
    ["slow", { ms: between(5, 300) }],
    ["hang", {}],
    ["change_tools", { action: pick(["add", "remove"]) }],
  ]);
  const timeoutMs = tool === "hang" ? between(50, 300) : between(300, 3_000);
  const signal = random() < 0.1 ? AbortSignal.timeout(between(1, 200)) : undefined;
  tally.made += 1;
  if (tool === "echo") tally.ids.add(id);
  try {
    const result = await workspace.callTool(`${alias}.${tool}`, input, { timeoutMs, signal });
    if (tool === "echo") {
      expect(result.text).toBe(id);
      tally.succeeded.add(id);
    }
    count(tally.codes, result.isError === true ? "isError" : "ok");
  } catch (error) {
    if (!isPortolanError(error)) throw error;
    count(tally.codes, error.code);
    // A reload removed the server or the tool: no call was sent, so the log has none.
    if (error.code === "TOOL_NOT_FOUND" || error.code === "SERVER_UNKNOWN") tally.notFound += 1;
  }
  tally.settled += 1;
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

const duration = SECONDS * 1_000;

it.skipIf(process.platform !== "linux")(
  `${SECONDS} seconds of random faults lose no call, run no call twice, and leave nothing behind`,
  async () => {
    console.log(`soak: PORTOLAN_SOAK_SEED=${SEED}`);
    const warnings: string[] = [];
    const onWarning = (warning: Error): void => void warnings.push(`${warning.name}: ${warning.message}`);
    process.on("warning", onWarning);
    const { entry, log } = recording(temporary());
    const http = await started(startHttpServer({ era: "modern", ttl: 1_000 }));
    const old = await started(startHttpServer({ era: "legacy", answer: "sse" }));
    const sse = await started(startSseServer());
    const ws = await started(startWsServer({ era: "modern" }));
    const network: Entry[] = [
      { alias: "http", transport: "streamable-http", url: http.url },
      { alias: "old", transport: "streamable-http", url: old.url },
      { alias: "sse", transport: "sse", url: sse.url },
      { alias: "ws", transport: "websocket", url: ws.url },
    ];
    const processes = ["modern", "legacy", "third", "guest"];
    const aliases = [...network.map(({ alias }) => alias), ...processes];
    const servers = (guest: boolean, blocked: string[] = []): Entry[] => [
      ...network,
      entry("modern", "modern"),
      entry("legacy", "legacy"),
      entry("third", "dual", { tool_blocklist: blocked }),
      ...(guest ? [entry("guest", pick(["modern", "legacy"]))] : []),
    ];
    const folder = declare(servers(true));

    // One run before the count: modules that the first use loads are not a leak.
    const first = await open(folder, { watchFiles: true });
    await first.workspace.settled();
    await Promise.all(aliases.map((alias) => first.workspace.callTool(`${alias}.stats`)));
    await first.workspace.close();
    await sleep(500);
    const before = held();

    const opened = await open(folder, { watchFiles: true, snapshots: temporary() });
    const { workspace, events } = opened;
    const tally: Tally = {
      made: 0,
      settled: 0,
      notFound: 0,
      succeeded: new Set(),
      ids: new Set(),
      codes: new Map(),
    };

    const signal = (alias: string, name: NodeJS.Signals): void => {
      for (const pid of pidsWithEnv("SOAK_ALIAS", `${TAG}-${alias}`)) {
        try {
          process.kill(pid, name);
        } catch {
          // The process has just ended by itself.
        }
      }
    };
    const trouble: Record<string, () => void | Promise<void>> = {
      kill: () => signal(pick(processes), "SIGKILL"),
      freeze: async () => {
        const alias = pick(processes);
        signal(alias, "SIGSTOP");
        await sleep(between(50, 600));
        signal(alias, "SIGCONT");
      },
      fault: () => {
        const name = pick(["status:503", "reset", "sse-drop", "sse-half-event", "html-200"]);
        pick([http, old]).setFault({ name, on: "tools/call", times: 1 });
      },
      drop: () => pick([() => sse.dropStreams(), () => ws.dropConnections()])(),
      announce: () => pick([http, old, sse, ws]).emit("notifications/tools/list_changed"),
      reload: () => void declare(servers(random() < 0.7, pick([[], ["add"], ["rich"]])), {}, folder),
      breakFile: () => writeFileSync(join(folder, "manifest.yaml"), "config: [servers: {"),
      look: async () => {
        await workspace.tools();
        workspace.health();
      },
    };
    const done = new Map<string, number>();
    const end = performance.now() + duration;
    const troubleMaker = async (): Promise<void> => {
      while (performance.now() < end) {
        const what = pick(Object.keys(trouble));
        count(done, what);
        await trouble[what]?.();
        await sleep(between(20, 250));
      }
    };
    const caller = async (): Promise<void> => {
      while (performance.now() < end) {
        await callSomething(opened, aliases, tally);
        await sleep(between(0, 20));
      }
    };
    await Promise.all([troubleMaker(), ...Array.from({ length: CALLERS }, caller)]);

    // Everything recovers by itself.
    for (const alias of processes) signal(alias, "SIGCONT");
    for (const server of [http, old, sse, ws]) server.clearFaults();
    declare(servers(true), {}, folder);
    await until(() => opened.state("guest") !== undefined);
    await until(async () => workspace.healthCheck());
    for (const alias of aliases) {
      tally.made += 1;
      expect((await workspace.callTool(`${alias}.echo`, { text: "well again" })).text).toBe("well again");
      tally.settled += 1;
    }
    const sum = [...tally.codes, ...done].map(([key, times]) => `${key} ${times}`).join(", ");
    console.log(`soak: ${tally.made} calls: ${sum}`);

    // Every call settles once, and is in the log once.
    expect(tally.settled).toBe(tally.made);
    const logged = events.filter(({ type }) => type === "mcp.tool_called" || type === "mcp.tool_failed");
    const missing = tally.made - tally.notFound - logged.length;
    expect(missing).toBeGreaterThanOrEqual(0);
    // A call that was cancelled before it was sent, such as while the list of tools was read, is not in the log.
    expect(missing).toBeLessThanOrEqual(tally.codes.get("CANCELLED") ?? 0);

    // A call that succeeded arrived once; a call that failed arrived at most once.
    const arrived = new Map<string, number>();
    const note = (input: { text?: unknown } | undefined): void => count(arrived, String(input?.text));
    for (const line of readFileSync(log, "utf8").trim().split("\n"))
      note(JSON.parse(line) as { text?: unknown });
    const messages = [...[http, old, sse].flatMap(({ requests }) => requests.map(({ body }) => body))].concat(
      ws.messages,
    );
    for (const message of messages)
      if (message?.method === "tools/call") note(message.params?.arguments as { text?: unknown });
    expect([...tally.succeeded].filter((id) => arrived.get(id) !== 1)).toEqual([]);
    expect([...tally.ids].filter((id) => (arrived.get(id) ?? 0) > 1)).toEqual([]);
    expect(tally.succeeded.size).toBeGreaterThan(20);

    await workspace.close();
    expect(pidsWithEnv("SOAK_TAG", TAG).filter(isRunning)).toEqual([]);
    // Sockets that were just closed, and pipes of processes that were just killed, take a moment.
    await Promise.race([until(() => !isMore(held(), before)), sleep(5_000)]);
    const after = held();
    const names = process.getActiveResourcesInfo().join(" ");
    console.log(`soak: before ${JSON.stringify(before)}, after ${JSON.stringify(after)} (${names})`);
    expect(isMore(after, before)).toBe(false);
    expect(warnings).toEqual([]);
    process.off("warning", onWarning);
  },
  duration + RECOVERY_MS,
);
