// A workspace with a gateway in the foreground, for tests of the commands beside it.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { MAIN, portolan, type Ran, temporaryFolder } from "./cli.ts";
import { until } from "./connect.ts";
import { stdioCommand } from "../fixtures/processes.mjs";

export const SERVER = fileURLToPath(new URL("../fixtures/stdio-server.mjs", import.meta.url));
export const entry = (
  ...flags: string[]
): { command: string; args: string[]; env: Record<string, string> } => {
  const { command, args } = stdioCommand(...flags);
  return { command, args: [...args], env: {} };
};
export type Settings = Record<string, unknown>;
export const yaml = (servers: Settings, gateway: Settings = {}): string =>
  JSON.stringify({ version: 1, servers, gateway: { port: 0, ...gateway } });

export interface Status {
  healthy: boolean;
  gateway: null | { pid: number; url?: string; problems?: string[] };
  servers: { alias: string; state: string; restarts: number; origin: { line: number } }[];
  diagnostics: { severity: string; message: string }[];
}
export interface State {
  socket: string;
  token: string;
  process: { pid: number; started: string };
}

/** A workspace with folders of its own for data, state and sockets. */
export function setUp(text: string = yaml({ good: entry("--era=modern") })) {
  const top = temporaryFolder();
  const cwd = join(top, "project");
  mkdirSync(cwd);
  writeFileSync(join(cwd, "portolan.yaml"), text);
  const env = {
    HOME: top,
    XDG_CACHE_HOME: join(top, "cache"),
    XDG_CONFIG_HOME: join(top, "config"),
    XDG_DATA_HOME: join(top, "data"),
    XDG_STATE_HOME: join(top, "state"),
    // The path of a socket is short.
    XDG_RUNTIME_DIR: top,
  };
  const run = (...words: string[]): Promise<Ran> => portolan(words, { cwd, env });
  const json = async <T>(...words: string[]): Promise<T> => {
    const { out, err } = await run(...words);
    expect(out, err).not.toBe("");
    return JSON.parse(out) as T;
  };
  const running = join(top, "data", "portolan", "running");
  const stateFiles = (): string[] =>
    existsSync(running)
      ? readdirSync(running, { recursive: true, encoding: "utf8" })
          .filter((name) => name.endsWith(".json"))
          .map((name) => join(running, name))
      : [];
  return {
    ...{ top, cwd, env, run, json, stateFiles },
    save: (content: string) => writeFileSync(join(cwd, "portolan.yaml"), content),
    state: () => JSON.parse(readFileSync(stateFiles()[0] ?? "", "utf8")) as State,
    serve: (...words: string[]) => serve(words, cwd, env, stateFiles),
  };
}

export type Place = ReturnType<typeof setUp>;

/** A gateway in the foreground, which other commands can find. */
export async function serve(
  words: string[],
  cwd: string,
  env: Record<string, string>,
  files: () => string[],
) {
  const before = files().length;
  const child = spawn(process.execPath, [MAIN, "serve", ...words], {
    cwd,
    env: { PATH: process.env["PATH"] ?? "", PORTOLAN_SANDBOX: "off", ...env },
    stdio: [words.includes("--stdio") ? "pipe" : "ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let err = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (err += text));
  const done = new Promise<number | null>((resolve) => child.once("close", resolve));
  await until(() => {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${err}`);
    return files().length > before;
  });
  // This line of the log comes when the servers have started, which commands beside the gateway do not wait for.
  if (!words.includes("--stdio") && !words.includes("--quiet"))
    await until(() => /\bServing |gateway\.listening/.test(err));
  return {
    child,
    done,
    err: () => err,
    shows: (text: string) => until(() => err.includes(text)),
    pid: child.pid ?? 0,
    /** The processes of its servers. */
    servers: () => childrenOf(child.pid ?? 0),
  };
}

export function childrenOf(pid: number): number[] {
  const own = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean);
  return own.map(Number).flatMap((child) => [child, ...childrenOf(child)]);
}

/** All processes of the fixture server that have this text in their environment. */
export function copies(mark: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return (
          readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(SERVER) &&
          readFileSync(`/proc/${pid}/environ`, "utf8").includes(mark)
        );
      } catch {
        return false;
      }
    });
}

/** True when the server has received the call of its tool `slow`. */
export async function hasBegun(place: Place): Promise<boolean> {
  const { content } = await place.json<{ content: { text: string }[] }>("call", "good.stats");
  return (JSON.parse(content[0]?.text ?? "") as { calls: Record<string, number> }).calls["slow"] === 1;
}
