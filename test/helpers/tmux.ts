// A shell in a real terminal (tmux): keys go in, and the screen is read as a person sees it.

import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";
import { MAIN, quoted, temporaryFolder } from "./cli.ts";

const run = promisify(execFile);

export interface Tmux {
  /** Everything since the start, with long lines joined again. */
  readonly text: () => Promise<string>;
  /** Types a line, waits until the shell asks for the next one, and returns what the command printed. */
  readonly run: (line: string, answers?: readonly Answer[]) => Promise<{ code: number; shown: string }>;
  /** Types without Enter. */
  readonly type: (text: string) => Promise<void>;
  /** Keys by their names in tmux: `Enter`, `Tab`, `C-c`. */
  readonly press: (...keys: string[]) => Promise<void>;
  /** Waits until this text is on the screen. */
  readonly shows: (text: string) => Promise<void>;
}

/** A question of a command, and the keys that answer it. */
export type Answer = readonly [question: string, ...keys: string[]];

export interface TmuxOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Default: `sh`, with a prompt that shows the last exit code. */
  readonly shell?: string;
}

const PROMPT = /^\[(\d+)\] \$(?: |$)/gm;
const COLUMNS = 110;
const ROWS = 50;

export async function openTmux({ cwd, env, shell = "exec /bin/sh" }: TmuxOptions): Promise<Tmux> {
  const socket = join(temporaryFolder(), "tmux");
  const own = {
    LANG: "C.UTF-8",
    TERM: "xterm-256color",
    SHELL: "/bin/sh",
    PS1: "[$?] $ ",
    ENV: "",
    ...env,
  };
  const tmux = async (...words: string[]): Promise<string> =>
    (await run("/usr/bin/tmux", ["-S", socket, "-f", "/dev/null", ...words], { cwd, env: own })).stdout;
  const size = ["-x", String(COLUMNS), "-y", String(ROWS)];
  await tmux("new-session", "-d", ...size, "-c", cwd, shell, ";", "set", "-g", "history-limit", "5000");
  onTestFinished(async () => void (await tmux("kill-server").catch(() => "")));
  const text = async (): Promise<string> => tmux("capture-pane", "-p", "-J", "-S", "-");
  const press = async (...keys: string[]): Promise<void> => void (await tmux("send-keys", ...keys));
  const type = async (line: string): Promise<void> => void (await tmux("send-keys", "-l", line));

  async function until<T>(what: string, find: (screen: string) => T | undefined): Promise<T> {
    for (const since = Date.now(); ;) {
      const screen = await text();
      const found = find(screen);
      if (found !== undefined) return found;
      if (Date.now() - since > 60_000) throw new Error(`${what} was never shown:\n${screen}`);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }
  const prompts = (screen: string): RegExpExecArray[] => [...screen.matchAll(PROMPT)];

  return {
    text,
    press,
    type,
    shows: async (wanted) =>
      void (await until(wanted, (screen) => (screen.includes(wanted) ? true : undefined))),
    async run(line, answers = []) {
      const before = (await until("the prompt", (screen) => prompts(screen).at(-1) && prompts(screen)))
        .length;
      await type(line);
      await press("Enter");
      const since = (screen: string): string => screen.slice(prompts(screen)[before - 1]?.index ?? 0);
      let seen = 0;
      for (const [question, ...keys] of answers) {
        seen = await until(question, (screen) => {
          const at = since(screen).indexOf(question, seen);
          return at < 0 ? undefined : at + question.length;
        });
        await press(...keys);
      }
      return until("the end of the command", (screen) => {
        const last = prompts(screen)[before];
        return last === undefined
          ? undefined
          : {
              code: Number(last[1]),
              shown: since(screen).slice(0, last.index - (screen.length - since(screen).length)),
            };
      });
    },
  };
}

/** A folder for PATH with `node` and the built `portolan`, and links to other programs of this machine. */
export function programFolder(...programs: string[]): string {
  const bin = join(temporaryFolder(), "bin");
  mkdirSync(bin);
  symlinkSync(process.execPath, join(bin, "node"));
  const file = join(bin, "portolan");
  writeFileSync(file, `#!/bin/sh\nexec ${quoted([process.execPath, MAIN])} "$@"\n`);
  chmodSync(file, 0o755);
  for (const program of programs) symlinkSync(program, join(bin, program.split("/").at(-1) ?? program));
  return bin;
}
