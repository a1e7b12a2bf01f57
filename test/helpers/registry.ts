// A registry as a real process, with a folder, a token and a client of its own.

import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { portolan, type Ran, type Running, start, temporaryFolder } from "./cli.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- tests change documents of any shape
export type Loose = Record<string, any>;

const EXAMPLE = new URL("../fixtures/packages/github-mcp.json", import.meta.url);

/** The example of the format without its placeholders, after a change. */
export function packageDocument(change: (document: Loose) => void = () => {}): Loose {
  const value = JSON.parse(readFileSync(EXAMPLE, "utf8")) as Loose;
  delete value["source"].platforms;
  value["mcp"].version = "2025-11-25";
  value["requirements"] = { mlldVersion: ">=0.5.0" };
  change(value);
  return value;
}

export interface TestRegistry {
  readonly folder: string;
  readonly registry: string;
  readonly url: string;
  readonly token: string;
  readonly running: Running;
  /** Runs a command with this registry and its token, with JSON output. */
  run(...words: string[]): Promise<Ran>;
  /** Writes a document and publishes it. */
  publish(document: Loose, ...words: string[]): Promise<Ran>;
  kill(signal: NodeJS.Signals): Promise<void>;
}

export async function startRegistry(
  folder: string = temporaryFolder(),
  scope = "alice",
  ...words: string[]
): Promise<TestRegistry> {
  const registry = join(folder, "registry");
  const env = { XDG_DATA_HOME: join(folder, "data") };
  const running = start(["registry", "serve", registry, "--port", "0", "--json", ...words], { env });
  const url = await new Promise<string>((resolve, reject) => {
    let out = "";
    running.child.stdout?.on("data", (text: string) => {
      out += text;
      const [, found] = /"url": "([^"]+)"/.exec(out) ?? [];
      if (found !== undefined) resolve(found);
    });
    void running.done.then(({ err }) => reject(new Error(err)));
  });
  const added = await portolan(
    ["registry", "token", "add", scope, "--folder", registry, "--show", "--json"],
    { env },
  );
  const { token } = JSON.parse(added.out) as { token: string };
  const run: TestRegistry["run"] = (...words) =>
    portolan(words, { cwd: folder, env: { ...env, PORTOLAN_REGISTRY: url, PORTOLAN_REGISTRY_TOKEN: token } });
  return {
    ...{ folder, registry, url, token, running, run },
    publish: (document, ...words) => {
      writeFileSync(join(folder, "package.json"), JSON.stringify(document, null, 2));
      return run("publish", "package.json", ...words);
    },
    kill: async (signal) => {
      const ended = once(running.child, "exit");
      running.child.kill(signal);
      await ended;
    },
  };
}
