// Runs the built command: as a child process with pipes, or on a pseudo-terminal.

import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { afterAll, expect, onTestFinished } from "vitest";
import { stdioCommand } from "../fixtures/processes.mjs";
import { CommandHosts, hasHosts } from "./warm-command.ts";

export const MAIN: string = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

export interface RunOptions {
  /** The content of stdin; empty by default. */
  readonly stdin?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments of node itself. */
  readonly node?: readonly string[];
}

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly done: Promise<Ran>;
  /** The content of stderr so far. */
  readonly err: () => string;
}

/** The environment without the developer's own settings, and without colour from the test runner. */
function environment(env: RunOptions["env"]): Record<string, string> {
  const kept = ["PATH", "HOME", "LANG", "TMPDIR", "XDG_CACHE_HOME", "XDG_STATE_HOME", "PORTOLAN_SANDBOX"];
  const own = Object.fromEntries(kept.map((name) => [name, process.env[name] ?? ""]));
  return { ...own, ...env };
}

/** Starts the command; the test ends it if it is still running. */
export function start(words: readonly string[], options: RunOptions = {}): Running {
  const child = spawn(process.execPath, [...(options.node ?? []), MAIN, ...words], {
    cwd: options.cwd,
    env: environment(options.env),
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  child.stdin.on("error", () => {});
  child.stdin.end(options.stdin ?? "");
  const done = new Promise<Ran>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, out, err }));
  });
  return { child, done, err: () => err };
}

const hosts = new CommandHosts(MAIN);
afterAll(() => hosts.close());

/** Runs the command to its end, in a process that has run others before; `start()` gives it one of its own. */
export function portolan(words: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { cwd, env, stdin = "", node = [] } = options;
  if (!hasHosts || node.length > 0) return start(words, options).done;
  return hosts.run({ words, cwd, env: environment(env), stdin }, onTestFinished);
}

/** The error of a run: the last line of stderr, with nothing on stdout. */
export function envelope(
  ran: Ran,
): Record<string, unknown> & { code: string; message: string; hint: string } {
  expect(ran.out).toBe("");
  expect(ran.err.endsWith("\n")).toBe(true);
  const parsed = JSON.parse(ran.err.trimEnd().split("\n").at(-1) ?? "") as { error: never };
  expect(Object.keys(parsed)).toEqual(["error"]);
  return parsed.error;
}

/** The text of a tool's first content block, from a run that printed JSON. */
export function resultText(ran: Ran): string {
  expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
  return (JSON.parse(ran.out) as { content: { text: string }[] }).content[0]?.text ?? "";
}

/** A command as one word, as a user quotes it for a shell. */
export function quoted(words: readonly string[]): string {
  return words
    .map((word) => (/^[\w./:=@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(" ");
}

/** The stdio fixture with these flags, as a target. */
export function fixture(...flags: string[]): string {
  const { command, args } = stdioCommand(...flags);
  return quoted([command, ...args]);
}

/** A public server of node_modules, as a target. */
export function publicServer(name: string, ...args: string[]): string {
  const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
  const { bin } = JSON.parse(readFileSync(manifest, "utf8")) as { bin: string | Record<string, string> };
  const file = typeof bin === "string" ? bin : (Object.values(bin)[0] as string);
  return quoted([process.execPath, join(dirname(manifest), file), ...args]);
}

export const EVERYTHING: string = publicServer("@modelcontextprotocol/server-everything");

/** A temporary folder of the test. */
export function temporaryFolder(): string {
  // Only digits and a to f, so that a random name never looks like a version such as v7.
  const folder = join(tmpdir(), `portolan-cli-test-${randomBytes(8).toString("hex")}`);
  mkdirSync(folder, { mode: 0o700 });
  onTestFinished(() => removeFolder(folder));
  return folder;
}

/**
 * A process that is ending may still write a file, such as its compiled code. `maxRetries` does not help: Node then only repeats
 * the removal of the folder, not of its content.
 */
async function removeFolder(folder: string): Promise<void> {
  for (let left = 50; ; left -= 1) {
    try {
      return rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      if (left === 0 || (error as NodeJS.ErrnoException).code !== "ENOTEMPTY") throw error;
      await delay(200);
    }
  }
}

/** Runs a command for the first time: the built files and the modules of Node that it loads. */
export async function loadedBy(words: readonly string[]): Promise<{ files: string[]; modules: string[] }> {
  const folder = temporaryFolder();
  const report = join(folder, "report.json");
  writeFileSync(
    join(folder, "report.cjs"),
    `process.on("exit", () => require("node:fs").writeFileSync(${JSON.stringify(report)},
      JSON.stringify(process.moduleLoadList)));`,
  );
  const env = { HOME: folder, XDG_CACHE_HOME: folder };
  const ran = await start(words, { node: ["--require", join(folder, "report.cjs")], env }).done;
  expect(ran.code).toBe(0);
  const modules = JSON.parse(readFileSync(report, "utf8")) as string[];
  // The command stores the compiled code of all files that it has loaded, with a list of them at the beginning.
  const [stored = ""] = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    /compiled\/[^/]+\/[a-z]+$/.test(name),
  );
  const bytes = readFileSync(join(folder, stored));
  const files = JSON.parse(bytes.toString("latin1", 8, 8 + bytes.readUInt32LE(0))) as [string][];
  return { files: files.map(([name]) => name), modules };
}

export interface Terminal {
  readonly done: Promise<{ code: number | null; screen: string; raw: string }>;
  /** The whole output so far, without colours and cursor moves. */
  readonly screen: () => string;
  /** Resolves when this text appears after the previous one. */
  readonly shows: (text: string) => Promise<void>;
  readonly press: (keys: string) => void;
}

export const KEYS = { enter: "\r", down: "\u001b[B", ctrlC: "\u0003", escape: "\u001b" } as const;

/** Runs a shell command on a pseudo-terminal of this width; `portolan` in it is the built command. */
export function terminal(command: string, columns = 100, env: Record<string, string> = {}): Terminal {
  const line = `stty cols ${columns} rows 50; portolan() { ${quoted([process.execPath, MAIN])} "$@"; }; ${command}`;
  const child = spawn("script", ["-qec", line, "/dev/null"], {
    env: { ...environment({ TERM: "xterm-256color", SHELL: "/bin/sh", ...env }) },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let raw = "";
  let seen = 0;
  const screen = (): string => stripVTControlCharacters(raw);
  child.stdout.setEncoding("utf8").on("data", (text: string) => (raw += text));
  child.stdin.on("error", () => {});
  const done = new Promise<{ code: number | null; screen: string; raw: string }>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, screen: screen(), raw }));
  });
  return {
    done,
    screen,
    async shows(text) {
      for (const since = Date.now(); ;) {
        const at = screen().indexOf(text, seen);
        if (at >= 0) {
          seen = at + text.length;
          return;
        }
        if (child.exitCode !== null || Date.now() - since > 20_000)
          throw new Error(`${text} was never shown:\n${screen()}`);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
    press: (keys) => void child.stdin.write(keys),
  };
}

/** The token of the only workspace that has a gateway here. */
export function keptToken({ XDG_DATA_HOME: data = "" }: Record<string, string>): string | undefined {
  const folder = join(data, "portolan", "gateway");
  if (!existsSync(folder)) return undefined;
  const [file = ""] = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return (JSON.parse(readFileSync(join(folder, file), "utf8")) as { token: string }).token;
}
