// Twelve ways out of the sandbox, tried by a hostile server as root and as an ordinary user, with each backend: none
// of them leads out.

import { execFile, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished, type TestOptions } from "vitest";
import { needs } from "../helpers/needs.ts";
import { BACKENDS, type TestedBackend } from "../helpers/sandbox.ts";

const ENTRY = fileURLToPath(new URL("../../dist/index.js", import.meta.url));
const HARNESS = fileURLToPath(new URL("../fixtures/escape-harness.mjs", import.meta.url));
const isRoot = process.getuid?.() === 0;
const NOBODY = "65534";

const PROBES = [
  ...["read-outside", "write-system", "raw-address", "metadata-address", "host-loopback", "other-name"],
  ...[
    "inherited-descriptors",
    "kernel-settings",
    "nul-in-host",
    "unix-sockets",
    "ptrace",
    "environment",
    "signal-gateway",
  ],
];

interface Outcome {
  readonly uid: number;
  readonly results: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly denied: readonly { readonly code: string; readonly message: string }[];
}

/** The command that runs the harness as this user. */
function as(user: "root" | "an ordinary user", args: readonly string[]): [string, string[]] {
  const node = [process.execPath, HARNESS, ENTRY, ...args];
  const drop = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--"];
  const command = user === "an ordinary user" && isRoot ? [...drop, ...node] : node;
  // A careless program may pass open descriptors of the root folder to its children.
  return ["bash", ["-c", 'exec 9</ 40</ 100</; exec "$@"', "bash", ...command]];
}

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), "portolan-escape-"));
  chmodSync(folder, 0o777);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function environment(home: string, backend: string): NodeJS.ProcessEnv {
  const { PATH, LANG } = process.env;
  return {
    PATH,
    LANG,
    TEST_BACKEND: backend,
    HOME: home,
    XDG_CACHE_HOME: join(home, "cache"),
    XDG_DATA_HOME: join(home, "data"),
  };
}

const users: readonly ("root" | "an ordinary user")[] = isRoot
  ? ["root", "an ordinary user"]
  : ["an ordinary user"];

const needed = (backend: TestedBackend): TestOptions => needs(backend, "an ordinary user", "bash");

describe.each(BACKENDS)("with %s, a hostile server", (backend) => {
  it.each(users)("cannot escape as %s", { timeout: 60_000, ...needed(backend) }, async (user) => {
    const home = scratch();
    const [file, args] = as(user, [join(home, "work")]);
    const { stdout } = await promisify(execFile)(file, args, { env: environment(home, backend), cwd: home });
    const { uid, results, denied } = JSON.parse(stdout) as Outcome;
    expect(uid === 0).toBe(user === "root");
    for (const profile of ["no network", "one host"])
      for (const probe of PROBES)
        expect([profile, probe, results[profile]?.[probe]]).toEqual([
          profile,
          probe,
          expect.stringMatching(/^blocked: /),
        ]);
    const refused = denied.filter(({ code }) => code === "SANDBOX_DENIED").map(({ message }) => message);
    for (const reason of [
      "the server's sandbox grants no host",
      "denied.invalid is not in the server's network list",
    ])
      expect(refused).toContainEqual(
        expect.stringContaining(`denied a connection to denied.invalid: ${reason}`),
      );
    expect(existsSync("/usr/portolan-probe")).toBe(false);
  });

  it.each(users)(
    "leaves no process running when Portolan is killed, as %s",
    { timeout: 60_000, ...needed(backend) },
    async (user) => {
      const home = scratch();
      const marker = `portolan-stay-${backend}-${process.pid}-${users.indexOf(user)}`;
      const [file, args] = as(user, [home, "hold", marker]);
      const child = spawn(file, args, {
        env: environment(home, backend),
        cwd: home,
        stdio: ["ignore", "pipe", "inherit"],
      });
      for await (const line of createInterface({ input: child.stdout })) if (line === "holding") break;
      expect(processesWith(marker).length).toBeGreaterThanOrEqual(5);
      child.kill("SIGKILL");
      await sleep(1_000);
      expect(processesWith(marker)).toEqual([]);
      expect(processesWith("escape-server.mjs")).toEqual([]);
    },
  );
});

function processesWith(word: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, "latin1");
        return words.includes(word) && !words.includes("escape-harness");
      } catch {
        return false;
      }
    });
}
