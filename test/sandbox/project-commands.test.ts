// Commands of a JavaScript project in the default profile: npx with an installed package, and scripts of package.json.

import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectMcp, openWorkspace, type PortolanError } from "../../src/index.ts";
import { needs } from "../helpers/needs.ts";

const SERVER = `
import { createInterface } from "node:readline";
import { started } from "./lib.mjs";
const tools = [{ name: "ok", inputSchema: { type: "object" } }];
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const results = {
    initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } },
    "tools/list": { tools },
    "tools/call": { content: [{ type: "text", text: started }] },
    ping: {},
  };
  const result = results[method];
  const error = { code: -32601, message: "unknown method" };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) }));
});
`;

/** A replacement for tsx: it runs the script that its first argument names. */
const RUNNER = `#!/usr/bin/env node
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
await import(pathToFileURL(resolve(process.argv[2])).href);
`;

function project(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-project-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const put = (name: string, text: string): string => {
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  const scripts = { serve: "node server.mjs", build: "node write.mjs && node server.mjs" };
  put("package.json", JSON.stringify({ name: "project", version: "1.0.0", scripts }));
  put("server.mjs", SERVER);
  put("lib.mjs", `export const started = "started";`);
  put("write.mjs", `import { writeFileSync } from "node:fs"; writeFileSync("out/file", "x");`);
  put("out/before", "");
  put("node_modules/tsx/package.json", JSON.stringify({ name: "tsx", type: "module", bin: "cli.js" }));
  chmodSync(put("node_modules/tsx/cli.js", RUNNER), 0o755);
  put(
    "node_modules/@example/own-server/package.json",
    JSON.stringify({ name: "@example/own-server", type: "module", bin: { "some-program": "server.js" } }),
  );
  put("node_modules/@example/own-server/lib.mjs", `export const started = "own";`);
  chmodSync(put("node_modules/@example/own-server/server.js", `#!/usr/bin/env node${SERVER}`), 0o755);
  mkdirSync(join(folder, "node_modules/.bin"));
  symlinkSync("../tsx/cli.js", join(folder, "node_modules/.bin/tsx"));
  symlinkSync("../@example/own-server/server.js", join(folder, "node_modules/.bin/some-program"));
  return folder;
}

/** The folder of the workspace is the working folder of its servers, and its config grants nothing. */
async function answerOf(command: string, args: readonly string[], folder: string): Promise<string> {
  const servers = { s: { command, args, sandbox: "enforce" } };
  writeFileSync(join(folder, "portolan.yaml"), JSON.stringify({ servers }));
  await using workspace = await openWorkspace(folder, { snapshots: false, onDiagnostic: () => {} });
  const [tool] = await workspace.tools();
  if (tool === undefined) throw workspace.health()[0]?.error as PortolanError;
  return await tool.execute({});
}

describe("a command of a project", needs("bubblewrap"), () => {
  it.each([
    ["npx", ["tsx", "server.mjs"], "started"],
    ["npx", ["-y", "@example/own-server"], "own"],
    ["npx", ["some-program"], "own"],
    ["npm", ["run", "serve"], "started"],
  ])("%s %j starts without a grant and without network", async (command, args, answer) => {
    expect(await answerOf(command, args, project())).toBe(answer);
  });

  it("finds an installed program from a folder below the project", async () => {
    const folder = join(project(), "below");
    mkdirSync(folder);
    expect(await answerOf("npx", ["tsx", "../server.mjs"], folder)).toBe("started");
    expect(await answerOf("npm", ["--silent", "run", "serve"], folder)).toBe("started");
  });

  it("names the folder to grant if a script writes into the project", async () => {
    const folder = project();
    await expect(answerOf("npm", ["run", "build"], folder)).rejects.toMatchObject({
      code: "SERVER_START_FAILED",
      hint: expect.stringContaining(`--write ${folder}/out`) as string,
    });
    const granted = await connectMcp({
      ...{ transport: "stdio", command: "npm", args: ["run", "--silent", "build"], cwd: folder },
      sandbox: { mode: "enforce", fs: { write: [`${folder}/out`] } },
    });
    expect((await granted.callTool("ok")).text).toBe("started");
    await granted.close();
  });

  it("shows the reason of npm, not the path of npm's log", async () => {
    await expect(answerOf("npm", ["run", "nothing"], project())).rejects.toMatchObject({
      message: expect.stringContaining('Missing script: "nothing"') as string,
    });
  });

  it("says that a program is in node_modules if it is not on the PATH", async () => {
    const failed = await answerOf("some-program", ["a"], project()).catch((error: unknown) => error);
    expect((failed as PortolanError).hint).toContain('command: npx, args: ["some-program", "a"]');
  });
});
