// A workspace for tests of an operator's commands: its gateway runs in the background, and is stopped after the test.

import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { stdioCommand } from "../fixtures/processes.mjs";
import { portolan, type Ran, temporaryFolder } from "./cli.ts";

export interface Place {
  readonly top: string;
  readonly cwd: string;
  readonly env: Record<string, string>;
  readonly run: (...words: string[]) => Promise<Ran>;
  readonly pipe: (stdin: string, ...words: string[]) => Promise<Ran>;
  readonly save: (config: object) => void;
}

export function setUp(config: object): Place {
  const top = realpathSync(temporaryFolder());
  const cwd = join(top, "project");
  mkdirSync(cwd);
  const env = {
    HOME: top,
    ...{ XDG_CACHE_HOME: join(top, "cache"), XDG_CONFIG_HOME: join(top, "config") },
    ...{ XDG_DATA_HOME: join(top, "data"), XDG_STATE_HOME: join(top, "state"), XDG_RUNTIME_DIR: top },
    // The tests never use the developer's keyring.
    DBUS_SESSION_BUS_ADDRESS: "unix:path=/nowhere",
  };
  const save = (text: object): void =>
    writeFileSync(join(cwd, "portolan.yaml"), JSON.stringify({ version: 1, gateway: { port: 0 }, ...text }));
  save(config);
  const pipe = (stdin: string, ...words: string[]): Promise<Ran> => portolan(words, { cwd, env, stdin });
  onTestFinished(async () => void (await portolan(["stop", "--all"], { cwd, env })));
  return { top, cwd, env, save, pipe, run: (...words) => pipe("", ...words) };
}

export const fixture = (env: Record<string, string> = {}): object => {
  const { command, args } = stdioCommand("--era=modern");
  return { command, args: [...args], env };
};
