// Hosts for runs of the built command: processes that have loaded its modules, each of which runs one command at a time.

import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";

export interface Order {
  readonly words: readonly string[];
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
}

export interface Result {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

const HOST = fileURLToPath(new URL("command-host.mjs", import.meta.url));

/** Elsewhere a process reads the home folder once, so that a host would keep that of the first command. */
export const hasHosts: boolean = process.platform === "linux";

export class CommandHosts {
  readonly #main: string;
  /** Hosts that wait, with the PATH of their commands: the command remembers which programs the machine has. */
  #idle: { readonly host: ChildProcess; readonly path: string | undefined }[] = [];

  constructor(main: string) {
    this.#main = main;
  }

  /** Runs a command; `onStop` gets the function that ends it before its time. */
  async run(order: Order, onStop: (stop: () => void) => void): Promise<Result> {
    let running: ChildProcess | undefined;
    onStop(() => void running?.kill("SIGKILL"));
    const path = order.env["PATH"];
    const host = this.#take(path) ?? (await this.#start());
    running = host;
    try {
      const { isClean, ...result } = await this.#exchange(host, order);
      if (isClean) this.#idle.push({ host, path });
      return result;
    } finally {
      running = undefined;
    }
  }

  /** Ends the hosts, which run nothing any more. */
  async close(): Promise<void> {
    const ended = this.#idle.map(({ host }) => new Promise((resolve) => void host.once("exit", resolve)));
    for (const { host } of this.#idle) host.disconnect();
    await Promise.all(ended);
  }

  #take(path: string | undefined): ChildProcess | undefined {
    const at = this.#idle.findLastIndex((one) => one.path === path);
    return at < 0 ? undefined : this.#idle.splice(at, 1)[0]?.host;
  }

  async #start(): Promise<ChildProcess> {
    const host = fork(HOST, [this.#main], { execArgv: [], stdio: ["ignore", "inherit", "inherit", "ipc"] });
    await new Promise((resolve, reject) => {
      host.once("message", resolve);
      host.once("error", reject);
    });
    // The host ends with this process; it does not keep it.
    host.unref();
    host.channel?.unref();
    host.once("exit", () => (this.#idle = this.#idle.filter((one) => one.host !== host)));
    return host;
  }

  #exchange(host: ChildProcess, order: Order): Promise<Result & { readonly isClean: boolean }> {
    return new Promise((resolve, reject) => {
      const onExit = (code: number | null): void =>
        reject(new Error(`The host of ${order.words.join(" ")} ended with code ${code}.`));
      host.once("exit", onExit);
      host.channel?.ref();
      host.once("message", (message) => {
        host.off("exit", onExit);
        host.channel?.unref();
        resolve(message as Result & { readonly isClean: boolean });
      });
      host.send(order);
    });
  }
}
