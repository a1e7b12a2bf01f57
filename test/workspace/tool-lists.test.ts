// The tool lists of servers: warnings about names in them, and the error of a tool that they hide.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { type Diagnostic, openWorkspace } from "../../src/index.ts";
import { stdioCommand } from "../fixtures/processes.mjs";
import { failure } from "../helpers/connect.ts";

const SERVER = { ...stdioCommand("--era=modern"), sandbox: "off" } as const;

it("unknown names in tool_allowlist and tool_blocklist are warnings; a call of a hidden tool says so", async () => {
  const found: Diagnostic[] = [];
  const workspace = await openWorkspace(
    {
      servers: {
        demo: { ...SERVER, tool_allowlist: ["echo", "ehco", "no_*"] },
        other: { ...SERVER, tool_blocklist: ["echo", "none"], env: { A: "1" } },
      },
    },
    { snapshots: false, onDiagnostic: (one) => found.push(one) },
  );
  onTestFinished(() => workspace.close());
  await workspace.settled();
  const listed = found
    .filter(({ message }) => message.startsWith("tool_"))
    .toSorted((a, b) => (a.message < b.message ? -1 : 1));
  expect(listed.map(({ message, hint }) => [message, hint])).toEqual([
    [
      'tool_allowlist of demo names the tool "ehco", but the server has no such tool',
      expect.stringContaining('Did you mean "echo"?'),
    ],
    [
      'tool_blocklist of other names the tool "none", but the server has no such tool',
      expect.stringContaining("The tools of other are "),
    ],
  ]);
  expect(await failure(workspace.callTool("other.echo", { text: "x" }))).toMatchObject({
    code: "TOOL_NOT_FOUND",
    hint: "other has this tool, but tool_allowlist or tool_blocklist in its config hides it.",
  });
});

it("a call of a tool that is new since the last run waits for the server", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-lists-"));
  const file = join(folder, "tools.json");
  const program = fileURLToPath(new URL("../fixtures/definition-server.mjs", import.meta.url));
  const own = { command: process.execPath, args: [program, file], sandbox: "off" } as const;
  const write = (...names: string[]): void =>
    writeFileSync(
      file,
      JSON.stringify({ tools: names.map((name) => ({ name, inputSchema: { type: "object" } })) }),
    );
  const call = async (tool: string): Promise<string> => {
    await using workspace = await openWorkspace({ servers: { own } }, { snapshots: folder, waitMs: 0 });
    return (await workspace.callTool(tool, {})).text;
  };
  write("one");
  expect(await call("own.one")).toBe("ran one");
  write("one", "two");
  expect(await call("own.two")).toBe("ran two");
  expect(await call("mcp_own_two")).toBe("ran two");
  expect(await failure(call("own.three"))).toMatchObject({ code: "TOOL_NOT_FOUND" });
});
