// Faults of the machine around a start: no sandbox, no descriptors, a clock that jumps, a server that will not go.

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { openWorkspaceWith } from "../../src/hub/index.ts";
import { connectMcp, type McpConnection, type McpStdioConfig } from "../../src/index.ts";
import { pidsWithEnv, stdioCommand } from "../fixtures/processes.mjs";
import { connectStdio, failure, until } from "../helpers/connect.ts";
import { needs } from "../helpers/needs.ts";

const ENTRY = fileURLToPath(new URL("../../dist/index.js", import.meta.url));
const run = promisify(execFile);

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), "portolan-faults-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const sandboxed = async (flags: string[], more: Partial<McpStdioConfig> = {}): Promise<McpConnection> => {
  const mcp = await connectMcp({
    transport: "stdio",
    ...stdioCommand(...flags),
    sandbox: "enforce",
    onDiagnostic: () => {},
    ...more,
  });
  onTestFinished(() => mcp.close());
  return mcp;
};

describe("in the sandbox", needs("bubblewrap"), () => {
  it("F19: a stubborn server and its helpers are gone within five seconds", async () => {
    const tag = `sandboxed-stubborn-${process.pid}`;
    const mcp = await sandboxed(["--fault=stubborn"], { env: { FIXTURE_TAG: tag } });
    await until(() => pidsWithEnv("FIXTURE_TAG", tag).length >= 2);
    await mcp.close();
    await until(() => pidsWithEnv("FIXTURE_TAG", tag).length === 0);
  });

  it("a crash is reported with code and stderr, and the server comes back in a new sandbox", async () => {
    const mcp = await sandboxed([]);
    const error = await failure(mcp.callTool("crash"));
    expect(error).toMatchObject({ code: "SERVER_CRASHED", data: { exitCode: 3 } });
    expect(error.stderr).toContain("the crash tool was called");
    expect((await mcp.listToolDefinitions()).length).toBeGreaterThan(0);
  });

  it.each([
    ["API_KEY is required", /The server may need API_KEY/],
    [
      "Error: EROFS: the log cannot be written",
      /The server runs in a sandbox\. To see its grants: portolan why --plan/,
    ],
    [
      "could not resolve api.example.com",
      /The server runs in a sandbox\. To see its grants: portolan why --plan/,
    ],
  ])("a failed start names the last line of stderr, and the sandbox if that fits: %s", async (line, hint) => {
    const script = `console.error("starting"); console.error(${JSON.stringify(line)}); process.exitCode = 1`;
    const error = await failure(
      connectMcp({
        transport: "stdio",
        name: "demo",
        command: process.execPath,
        args: ["-e", script],
        sandbox: { mode: "enforce" },
      }),
    );
    expect(error).toMatchObject({
      code: "SERVER_START_FAILED",
      message: `demo exited with code 1: ${line}`,
      hint: expect.stringMatching(hint) as string,
    });
  });

  it("limits hold: a program that takes more memory than it may ends, and only it", async () => {
    const script = "const a=[];for(;;)a.push(Buffer.alloc(32e6,1))";
    const error = await failure(
      connectMcp({
        transport: "stdio",
        command: process.execPath,
        args: ["-e", script],
        sandbox: { mode: "enforce", limits: { memoryBytes: 300e6 } },
      }),
    );
    expect(error.code).toBe("SERVER_START_FAILED");
    expect(error.message).not.toContain("not ready");
  });
});

describe("F41: where the sandbox that a server needs cannot be made", () => {
  // A PATH with node and without bubblewrap is as a machine without it.
  const withoutBubblewrap = async (
    sandbox: string,
  ): Promise<{ code?: string; hint?: string; tools?: number }> => {
    const bin = scratch();
    symlinkSync(process.execPath, join(bin, "node"));
    const server = stdioCommand().args[0] as string;
    const script = `
      const { connectMcp } = await import(${JSON.stringify(ENTRY)});
      try {
        const mcp = await connectMcp({ transport: "stdio", command: "node", args: [${JSON.stringify(server)}], sandbox: ${sandbox}, onDiagnostic() {} });
        console.log(JSON.stringify({ tools: (await mcp.listToolDefinitions()).length }));
        await mcp.close();
      } catch ({ code, message, hint }) {
        console.log(JSON.stringify({ code, message, hint }));
      }`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], {
      env: { PATH: bin, HOME: bin, XDG_CACHE_HOME: bin, XDG_DATA_HOME: bin },
    });
    return JSON.parse(stdout) as { code?: string; hint?: string; tools?: number };
  };

  it.skipIf(process.platform !== "linux")(
    "a server is not started, and the error says what helps",
    async () => {
      const refused = await withoutBubblewrap('{ backend: "bubblewrap" }');
      expect(refused).toMatchObject({
        code: "SANDBOX_UNAVAILABLE",
        hint: expect.stringContaining("bubblewrap") as string,
      });
      expect(refused.hint).toContain("sandbox: off in its config");
    },
  );

  it("it starts in a sandbox of unshare if it needs no other", needs("unshare"), async () => {
    expect((await withoutBubblewrap("undefined")).tools).toBeGreaterThan(0);
  });

  it.each(['{ mode: "warn", backend: "bubblewrap" }', '"off"'])(
    "it starts when that is said for it: %s",
    async (mode) => {
      expect((await withoutBubblewrap(mode)).tools).toBeGreaterThan(0);
    },
  );
});

/** Whatever this program was itself started with is not for the one that has few. */
const CLEAN =
  'for f in /proc/$$/fd/*; do n=${f##*/}; [ "$n" -gt 2 ] && eval "exec $n<&-"; done 2>/dev/null; exec "$@"';

describe("F34: no file descriptors left", () => {
  it.each(["off", "enforce"])(
    "a start that fails for it says so, harms nobody, and works again later (sandbox %s)",
    needs("prlimit", "bash", "bubblewrap"),
    async (sandbox) => {
      const harness = fileURLToPath(new URL("../fixtures/descriptors-harness.mjs", import.meta.url));
      const home = scratch();
      const { stdout } = await run(
        "bash",
        ["-c", CLEAN, "bash", "prlimit", "--nofile=90", process.execPath, harness, ENTRY, sandbox],
        {
          env: { PATH: process.env.PATH, HOME: home, XDG_CACHE_HOME: home, XDG_DATA_HOME: home },
        },
      );
      const {
        started,
        failure: why,
        alive,
        again,
      } = JSON.parse(stdout) as Record<string, unknown> & {
        failure?: { code: string; message: string };
      };
      expect(started).toBeGreaterThan(0);
      expect(why?.message).toMatch(/EMFILE|too many open files|descriptors/i);
      expect(alive).toBe(true);
      expect(again).toBe("started");
    },
  );
});

describe("F33: a clock that jumps", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([3_600_000, -3_600_000])(
    "by %i ms harms no call, starts nothing again, and ends nothing",
    async (jump) => {
      const mcp = await connectStdio([]);
      const folder = scratch();
      const workspace = await openWorkspaceWith(
        {
          servers: [
            {
              alias: "fixture",
              origin: { file: join(folder, "x.yaml"), line: 1, column: 1, format: "workspace" },
              enabled: true,
              endpoint: { transport: "stdio", ...stdioCommand() },
              idleStopMs: 60_000,
            },
          ],
        },
        { snapshots: false },
      );
      onTestFinished(() => workspace.close());
      await workspace.settled();
      const pending = mcp.callTool("sleep", { ms: 300 }).catch(() => undefined);
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + jump });
      await pending;
      expect((await mcp.listToolDefinitions({ refresh: true })).length).toBeGreaterThan(0);
      expect((await workspace.tools()).length).toBeGreaterThan(0);
      expect(await workspace.healthCheck()).toBe(true);
      expect(workspace.health()).toMatchObject([{ state: "ready", restarts: 0 }]);
      expect(mcp.stats().restarts).toBe(0);
    },
  );
});
