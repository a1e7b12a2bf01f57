// Faults of the machine: no sandbox, no file descriptors, a clock that jumps, a server that ignores signals.

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { openWorkspaceWith } from "../../src/hub/index.ts";
import { connectMcp, type Diagnostic, type McpConnection, type McpStdioConfig } from "../../src/index.ts";
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

it("a reference in env is a warning, because only config files replace it", async () => {
  const found: Diagnostic[] = [];
  const env = { TOKEN: "${MY_TOKEN}" };
  const onDiagnostic = (one: Diagnostic): void => void found.push(one);
  await using _mcp = await connectMcp({ ...stdioCommand(), env, sandbox: "off", onDiagnostic });
  const hint = "Pass the value itself, for instance with process.env.MY_TOKEN.";
  expect(found).toMatchObject([{ code: "CONFIG_INVALID", severity: "warning", hint }]);
});

describe("in the sandbox", needs("bubblewrap"), () => {
  it("F19: a server that ignores SIGTERM, and its helpers, are gone after close()", async () => {
    const tag = `sandboxed-stubborn-${process.pid}`;
    const mcp = await sandboxed(["--fault=stubborn"], { env: { FIXTURE_TAG: tag } });
    await until(() => pidsWithEnv("FIXTURE_TAG", tag).length >= 2);
    await mcp.close();
    await until(() => pidsWithEnv("FIXTURE_TAG", tag).length === 0);
  });

  it("a crash is reported with exit code and stderr, and the server restarts in a new sandbox", async () => {
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
  ])(
    "a failed start names the last line of stderr, and the sandbox if that may be the cause: %s",
    async (line, hint) => {
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
    },
  );

  it("the memory limit ends a program that uses too much memory", async () => {
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

describe("F41: without bubblewrap", () => {
  // A PATH with node and without bubblewrap simulates a machine without bubblewrap.
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
    "a server that requires it does not start, and the error has the next step",
    async () => {
      const refused = await withoutBubblewrap('{ backend: "bubblewrap" }');
      expect(refused).toMatchObject({
        code: "SANDBOX_UNAVAILABLE",
        hint: expect.stringContaining("bubblewrap") as string,
      });
      expect(refused.hint).toContain("sandbox: off in its config");
    },
  );

  it("a server starts in a sandbox of unshare if no backend is configured", needs("unshare"), async () => {
    expect((await withoutBubblewrap("undefined")).tools).toBeGreaterThan(0);
  });

  it.each(['{ mode: "warn", backend: "bubblewrap" }', '"off"'])(
    "a server starts if its config says: %s",
    async (mode) => {
      expect((await withoutBubblewrap(mode)).tools).toBeGreaterThan(0);
    },
  );
});

/** Closes inherited file descriptors, so that the harness starts with a known number. */
const CLEAN =
  'for f in /proc/$$/fd/*; do n=${f##*/}; [ "$n" -gt 2 ] && eval "exec $n<&-"; done 2>/dev/null; exec "$@"';

describe("F34: without free file descriptors", () => {
  it.each(["off", "enforce"])(
    "a start fails with this reason, other servers continue, and a later start works (sandbox %s)",
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

describe("F33: a jump of the system clock", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([3_600_000, -3_600_000])(
    "by %i ms fails no call, and restarts or stops no server",
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
