// `portolan test`: the examples of contracts, run against one driver.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { envelope } from "../../helpers/cli.ts";
import { examplePlace, FILESYSTEM, FS_CONTRACTS, place } from "../../helpers/drivers.ts";

const CAT = ".drivers/cat-mcp/DRIVER.md";
const NOTE = "tools/note-read/TOOL.md";

describe("test", () => {
  it("shows the first difference, and ends with 1", async () => {
    const { run, change } = examplePlace();
    change(NOTE, (text) => text.replace("two servers", "three servers"));
    const ran = await run("test", "cat-mcp", "--text");
    expect(ran.code).toBe(1);
    expect(ran.out).toMatch(/^failed {3}note-read/m);
    expect(ran.out).toContain(
      '$: expected "A note that three servers can read.\\n", got "A note that two servers can read.\\n"',
    );
    expect(JSON.parse((await run("test", "cat-mcp")).out)).toMatchObject({
      driver: "cat-mcp",
      passed: false,
      examples: [{ contract: "note-read", state: "failed", got: "A note that two servers can read.\n" }],
    });
  });

  it("changes data only with --allow-mutations", async () => {
    const here = place({
      ...FS_CONTRACTS,
      "tools/fs-write/TOOL.md": (FS_CONTRACTS["tools/fs-write/TOOL.md"] ?? "").replace(
        "mutates:",
        "examples: [{ name: a file, input: { path: made.txt, content: hi } }]\nmutates:",
      ),
      "workspace/a.txt": "",
    });
    await here.run(
      "author",
      `node ${FILESYSTEM}`,
      "--id",
      "files-mcp",
      "--tools",
      "write_file=fs-write",
      "--",
      "./workspace",
    );
    const careful = await here.run("test", "files-mcp", "--text");
    expect(careful.code).toBe(0);
    expect(careful.out).toContain("the contract changes workspace:files; to run it, add --allow-mutations");
    expect(existsSync(join(here.cwd, "workspace/made.txt"))).toBe(false);
    const bold = await here.run("test", "files-mcp", "--allow-mutations", "--text");
    expect(bold.out).toContain("1 of 1 passed.");
    expect(here.file("workspace/made.txt")).toBe("hi");
  });

  it.each(["approval: always", "approve_from_risk: 0"])(
    "skips calls that require approval by the policy %s",
    async (policy) => {
      const { run, change } = examplePlace();
      change("portolan.yaml", (text) => `${text}  ${policy}\n`);
      const careful = await run("test", "filesystem-mcp", "--text");
      expect(careful.out).toMatch(/^skipped {2}note-read/m);
      expect(careful.out).toContain("it needs approval: ");
      expect(careful.out).not.toContain("passed  note-");
      const allowed = await run("test", "filesystem-mcp", "--allow-mutations", "--text");
      expect(allowed.out).toMatch(/^passed {3}note-read/m);
    },
  );

  it("compares objects without the order of their keys", async () => {
    const { run, change } = examplePlace();
    change("servers/cat.mjs", (text) =>
      text
        .replace(/outputSchema: \{.*?\n {2}\}/s, 'outputSchema: { type: "object" }')
        .replace(/return \{ text: .*/, "return { same: { a: 1, b: 2 }, other: 2 };"),
    );
    change(CAT, (text) => text.replace("$.text", "$"));
    change(NOTE, (text) =>
      text
        .replace("outputs: { type: string }", "outputs: { type: object }")
        .replace(/output: ".*"/, "output: { same: { b: 2, a: 1 }, other: 1 }"),
    );
    const ran = await run("test", "cat-mcp", "--text");
    expect(ran.out).toContain("the output differs: $.other: expected 1, got 2");
  });

  it("refuses a driver that is unknown or not verified", async () => {
    const { run, change } = examplePlace();
    expect(envelope(await run("test", "cat"))).toMatchObject({ code: "SERVER_UNKNOWN" });
    change(CAT, (text) => text.replace("$.text", "$.nothing"));
    const ran = await run("test", "cat-mcp");
    expect(ran.code).toBe(2);
    expect(envelope(ran).hint).toContain("Matching paths: result_extract $.text");
  });
});
