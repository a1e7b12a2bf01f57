// No token, code, verifier or client secret leaves Portolan: not in output, logs, events, errors, files, nor in the command lines and
// environments of processes. The tokens are only in the encrypted files of logins.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { portolan, start, temporaryFolder } from "../helpers/cli.ts";
import { startOAuthServer } from "../helpers/oauth-server.ts";
import { stdioCommand } from "../fixtures/processes.mjs";
import { filesBelow } from "../helpers/workspace.ts";

/** The command line of a process, and the command lines and environments of the processes that it started. */
function processTexts(pid: number): string[] {
  const children = readdirSync("/proc").filter((name) => parentOf(name) === pid);
  const below = children.flatMap((child) => [
    readIfThere(join("/proc", child, "environ")),
    ...processTexts(Number(child)),
  ]);
  return [readIfThere(join("/proc", String(pid), "cmdline")), ...below];
}

function parentOf(name: string): number | undefined {
  const parent = /^\d+$/.test(name)
    ? /\) \S (\d+)/.exec(readIfThere(join("/proc", name, "stat")))?.[1]
    : undefined;
  return parent === undefined ? undefined : Number(parent);
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}

test.skipIf(process.platform !== "linux")(
  "the secrets of a login are only in the encrypted files of logins",
  async () => {
    const server = await startOAuthServer();
    onTestFinished(() => server.close());
    const cwd = temporaryFolder();
    const env = {
      ...{
        XDG_DATA_HOME: join(cwd, "data"),
        XDG_STATE_HOME: join(cwd, "state"),
        DBUS_SESSION_BUS_ADDRESS: "",
      },
      CLIENT_SECRET: "canary-of-the-client",
    };
    server.secrets.add(env.CLIENT_SECRET);
    const { command, args } = stdioCommand();
    writeFileSync(
      join(cwd, "portolan.yaml"),
      `servers:
  notes:
    url: ${server.url}
  locked:
    url: ${server.url}
    auth: { client_id: locked, client_secret: "\${CLIENT_SECRET}", account: locked }
  local: ${JSON.stringify({ command, args, sandbox: "off", start: "eager" })}
`,
    );
    const seen: string[] = [];
    const run = async (...words: string[]): Promise<number | null> => {
      const { code, out, err } = await portolan(words, { cwd, env });
      seen.push(out, err);
      return code;
    };
    const login = start(["login", "notes", "--no-browser", "--verbose", "--text"], { cwd, env });
    const address = await vi.waitFor(() => {
      return new URL(/^\s*(http:\S+\/authorize\?\S+)\s*$/m.exec(login.err())?.[1] ?? "");
    }, 30_000);
    seen.push(...processTexts(login.child.pid ?? 0));
    await fetch(address);
    const { out, err } = await login.done;
    seen.push(out, err);

    // The gateway starts a local server beside the one behind OAuth, refreshes a token, and loses the login.
    const gateway = start(["serve", "--port", "0", "--verbose"], { cwd, env });
    await vi.waitFor(() => expect(gateway.err()).toMatch(/http:\/\/127\.0\.0\.1:\d+/), 30_000);
    expect(await run("call", "notes.whoami", "--text")).toBe(0);
    server.revokeAccess();
    expect(await run("call", "notes.whoami", "--verbose", "--json")).toBe(0);
    const processes = processTexts(gateway.child.pid ?? 0);
    expect(processes.join("\n")).toContain("stdio-server.mjs");
    seen.push(...processes);
    server.revokeAccess();
    server.revokeRefresh();
    expect(await run("call", "notes.whoami", "--json")).not.toBe(0);
    await run("call", "locked.whoami", "--verbose", "--json");
    await run("status", "--json");
    await run("why", "notes", "--text");
    await run("events", "--json");
    await run("accounts", "--json");
    gateway.child.kill("SIGINT");
    const served = await gateway.done;
    seen.push(served.out, served.err, ...filesBelow(cwd).map(({ text }) => text));

    const canaries = [...server.secrets].filter((secret) => secret !== "");
    expect(canaries.length).toBeGreaterThan(5);
    expect(canaries).toContain(env.CLIENT_SECRET);
    const text = seen.join("\n");
    expect(canaries.filter((secret) => text.includes(secret))).toEqual([]);
  },
);
