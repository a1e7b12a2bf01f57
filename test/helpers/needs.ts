// What some tests need of the machine beside Node.js, npm, git and a shell. Where it is missing the test is skipped, and
// the run ends with a list of what was missing; with TEST_FORBID_SKIPS=1, as in CI, a skipped test fails the run.

import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { TestOptions } from "vitest";
import { newerNode, packageFolder } from "../fixtures/clients/packages.ts";

declare module "vitest" {
  interface TaskMeta {
    /** What the test needs and this machine does not have. */
    missing?: readonly string[];
  }
}

interface Requirement {
  /** How to get it. */
  readonly from: string;
  readonly isThere: () => boolean;
}

/** Where the sandbox looks for programs of the system, whatever PATH says. */
const SYSTEM = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

const program = (name: string, from: string): Requirement => ({ from, isThere: () => isOnPath(name) });
const interop = (name: string): Requirement => ({
  ...{ from: "npm run interop", isThere: () => packageFolder(name) !== undefined },
});

type Needed =
  | "bash"
  | "bubblewrap"
  | "chromium"
  | "curl"
  | "fish"
  | "the dynamic linker's cache"
  | "a keyring"
  | "a network of its own"
  | "a terminal"
  | "iproute2 and setpriv"
  | "Node.js 24"
  | "openssl"
  | "prlimit"
  | "an ordinary user"
  | "python3"
  | "/dev/full"
  | "root"
  | "@ai-sdk/mcp"
  | "@langchain/mcp-adapters"
  | "@modelcontextprotocol/inspector"
  | "setsid"
  | "shadcn"
  | "supergateway"
  | "tmux"
  | "unshare"
  | "zsh";

const REQUIREMENTS: Readonly<Record<Needed, Requirement>> = {
  bash: program("bash", "apt-get install bash"),
  bubblewrap: {
    from: "apt-get install bubblewrap, and user namespaces",
    isThere: () => succeeds("bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"),
  },
  chromium: { from: "apt-get install chromium", isThere: () => findChromium() !== undefined },
  curl: { from: "apt-get install curl", isThere: () => existsSync("/usr/bin/curl") },
  fish: program("fish", "apt-get install fish"),
  "the dynamic linker's cache": { from: "glibc", isThere: () => existsSync("/etc/ld.so.cache") },
  "a keyring": {
    from: "apt-get install dbus gnome-keyring",
    isThere: () => isOnPath("dbus-run-session") && isOnPath("gnome-keyring-daemon"),
  },
  "a network of its own": {
    from: "root, and apt-get install iproute2 util-linux",
    isThere: () => succeeds("unshare", "-n", "-m", "ip", "addr"),
  },
  "a terminal": {
    from: "`script` of apt-get install bsdutils",
    isThere: () => succeeds("script", "-qec", "true", "/dev/null"),
  },
  "iproute2 and setpriv": {
    from: "apt-get install iproute2 util-linux",
    isThere: () => ["ip", "setpriv"].every((name) => SYSTEM.some((folder) => existsSync(join(folder, name)))),
  },
  "Node.js 24": { from: "npm run interop", isThere: () => newerNode() !== undefined },
  openssl: program("openssl", "apt-get install openssl"),
  prlimit: program("prlimit", "apt-get install util-linux"),
  "an ordinary user": {
    from: "setpriv of apt-get install util-linux",
    isThere: () => process.getuid?.() !== 0 || isOnPath("setpriv"),
  },
  python3: { from: "apt-get install python3-minimal", isThere: () => existsSync("/usr/bin/python3") },
  "/dev/full": { from: "Linux", isThere: () => existsSync("/dev/full") },
  root: { from: "sudo", isThere: () => process.getuid?.() === 0 },
  "@ai-sdk/mcp": interop("@ai-sdk/mcp"),
  "@langchain/mcp-adapters": interop("@langchain/mcp-adapters"),
  "@modelcontextprotocol/inspector": interop("@modelcontextprotocol/inspector"),
  setsid: program("setsid", "apt-get install util-linux"),
  shadcn: interop("shadcn"),
  supergateway: interop("supergateway"),
  tmux: program("tmux", "apt-get install tmux"),
  zsh: program("zsh", "apt-get install zsh"),
  unshare: {
    from: "apt-get install util-linux iproute2 perl, and user namespaces",
    isThere: () =>
      ["setpriv", "pivot_root", "prlimit", "ip", "perl"].every((name) =>
        SYSTEM.some((folder) => existsSync(join(folder, name))),
      ) &&
      succeeds(
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "--pid",
        "--fork",
        "mount",
        "-t",
        "proc",
        "proc",
        "/proc",
      ),
  },
};

/** The browser that PATH leads to. */
export function findChromium(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return ["chromium", "chromium-browser", "google-chrome"]
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((path) => existsSync(path));
}

/** Known for as long as this worker runs. */
const known = new Map<Needed, boolean>();

/** Options of a test or a suite: skips it when something is missing. */
export function needs(...all: readonly Needed[]): TestOptions {
  return without(all.filter((name) => !isThere(name)).map((name) => `${name} (${REQUIREMENTS[name].from})`));
}

/** Options of a test or a suite that is skipped for these reasons; without any it runs. */
export function without(missing: readonly string[]): TestOptions {
  return missing.length === 0 ? {} : { skip: true, meta: { missing } };
}

export function isThere(name: Needed): boolean {
  const before = known.get(name);
  if (before !== undefined) return before;
  const found = REQUIREMENTS[name].isThere();
  known.set(name, found);
  return found;
}

function succeeds(command: string, ...args: readonly string[]): boolean {
  return process.platform === "linux" && spawnSync(command, args, { stdio: "ignore" }).status === 0;
}

function isOnPath(name: string): boolean {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
