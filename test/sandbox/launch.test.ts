// Launching with all layers: images, mcpfiles, paths in calls to a sandboxed server, changes while it runs.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  connectMcp,
  type HubEvent,
  openWorkspace,
  type Workspace,
  type WorkspaceOptions,
} from "../../src/index.ts";
import { pidsWithEnv, stdioCommand } from "../fixtures/processes.mjs";
import { failure, until } from "../helpers/connect.ts";
import { needs } from "../helpers/needs.ts";

const NODE = process.execPath;
const FILESYSTEM = fileURLToPath(
  new URL("../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", import.meta.url),
);
const DIGEST = `@sha256:${"b".repeat(64)}`;

function scratch(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-launch-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function open(
  folder: string,
  options: WorkspaceOptions = {},
): Promise<{ workspace: Workspace; events: HubEvent[] }> {
  const events: HubEvent[] = [];
  const workspace = await openWorkspace(folder, {
    snapshots: false,
    onEvent: (event) => events.push(event),
    onDiagnostic: () => {},
    ...options,
  });
  onTestFinished(() => workspace.close());
  await workspace.settled();
  return { workspace, events };
}

const text = async (workspace: Workspace, tool: string, input = {}): Promise<string> =>
  ((await workspace.callTool(tool, input)).content ?? [])
    .map((block) => ("text" in block ? String(block.text) : ""))
    .join("");

/** An engine that records its calls, first on the PATH. */
function withEngine(): string {
  const folder = scratch();
  const standIn = fileURLToPath(new URL("../fixtures/docker-stand-in.mjs", import.meta.url));
  writeFileSync(join(folder, "docker"), `#!/bin/sh\nexec "${NODE}" "${standIn}" "$@"\n`);
  chmodSync(join(folder, "docker"), 0o755);
  vi.stubEnv("PATH", `${folder}:${process.env.PATH}`);
  vi.stubEnv("DOCKER_STAND_IN", folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  return folder;
}

const runs = (folder: string): string[][] =>
  readFileSync(join(folder, "calls.jsonl"), "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { argv: string[] }).argv)
    .filter(([command]) => command === "run");

describe("servers in container images", () => {
  it("run over stdio, without network, capabilities and write access", async () => {
    const engine = withEngine();
    const folder = scratch();
    const yaml = {
      servers: {
        image: {
          docker: `stdio${DIGEST}`,
          env: { TOKEN: "s3cret-value" },
          sandbox: { mode: "enforce", fs: { read: [folder] } },
        },
      },
    };
    writeFileSync(join(folder, "portolan.yaml"), JSON.stringify(yaml));
    const { workspace } = await open(folder);
    expect(await text(workspace, "image.echo", { text: "hello" })).toBe("hello");
    expect(workspace.health()).toMatchObject([{ sandbox: { mode: "enforce", backend: "docker" } }]);
    const [argv = []] = runs(engine);
    const line = argv.join(" ");
    for (const words of ["--network none", "--cap-drop ALL", "--read-only", "--rm", "no-new-privileges"])
      expect(line).toContain(words);
    expect(line).toContain(folder);
    expect(line).not.toContain("s3cret-value");
  });

  it("run over HTTP on a port that the engine chooses", async () => {
    const engine = withEngine();
    const folder = scratch();
    const server = {
      docker: `http${DIGEST}`,
      transport: "http",
      port: 8000,
      sandbox: { mode: "warn", network: ["*"] },
    };
    writeFileSync(join(folder, "portolan.yaml"), JSON.stringify({ servers: { web: server } }));
    const { workspace } = await open(folder);
    expect(await text(workspace, "web.echo", { text: "over http" })).toBe("over http");
    const [argv = []] = runs(engine);
    expect(argv.join(" ")).toContain("--publish 127.0.0.1::8000");
    await workspace.close();
    await until(() => pidsWithEnv("DOCKER_STAND_IN", engine).length === 0);
  });

  it("do not start with a list of allowed hosts, which the engine cannot enforce", async () => {
    const engine = withEngine();
    const folder = scratch();
    const server = { docker: `stdio${DIGEST}`, sandbox: { mode: "enforce", network: ["example.com"] } };
    writeFileSync(join(folder, "portolan.yaml"), JSON.stringify({ servers: { image: server } }));
    const { workspace } = await open(folder);
    const [health] = workspace.health();
    expect(health?.error).toMatchObject({ code: "SANDBOX_UNAVAILABLE" });
    expect(health?.error?.message).toContain("network: example.com");
    expect(health?.error?.hint).toContain("sandbox: warn");
    expect(existsSync(join(engine, "calls.jsonl")) ? runs(engine) : []).toEqual([]);
  });
});

describe("in the sandbox", needs("bubblewrap"), () => {
  it("paths and URIs outside the granted folders are refused before they are forwarded", async () => {
    const folder = scratch();
    const [granted, outside] = [join(folder, "granted"), join(folder, "granted-not")];
    for (const one of [granted, outside]) mkdirSync(one);
    writeFileSync(join(granted, "a.txt"), "inside");
    writeFileSync(join(outside, "b.txt"), "outside");
    symlinkSync(outside, join(granted, "link"));
    const mcp = await connectMcp({
      transport: "stdio",
      command: NODE,
      args: [FILESYSTEM, granted],
      sandbox: {
        mode: "enforce",
        fs: { write: [granted] },
        pathArguments: { "read_*": ["path", "paths"], write_file: ["path"] },
      },
    });
    onTestFinished(() => mcp.close());
    const read = (path: string): Promise<unknown> => mcp.callTool("read_text_file", { path });
    expect(JSON.stringify(await read(join(granted, "a.txt")))).toContain("inside");
    for (const path of [
      join(outside, "b.txt"),
      `${granted}/../granted-not/b.txt`,
      `${granted}/link/b.txt`,
      `${granted}-not/b.txt`,
      `${granted}/%2e%2e%2fgranted-not/b.txt`,
      `${granted}/a.txt\0`,
      pathToFileURL(join(outside, "b.txt")).href,
      "/etc/shadow",
    ])
      expect([path, (await failure(read(path))).code]).toEqual([path, "SANDBOX_DENIED"]);
    const several = mcp.callTool("read_multiple_files", {
      paths: [join(granted, "a.txt"), join(outside, "b.txt")],
    });
    expect((await failure(several)).code).toBe("SANDBOX_DENIED");
    const fixture = await connectMcp({ transport: "stdio", ...stdioCommand(), sandbox: "enforce" });
    onTestFinished(() => fixture.close());
    const resource = fixture.readResource(pathToFileURL(join(outside, "b.txt")).href);
    expect((await failure(resource)).code).toBe("SANDBOX_DENIED");
  });

  it("commands of an mcpfile run in the sandbox of the mcpfile", async () => {
    const folder = scratch();
    const secret = join(folder, "secret.txt");
    writeFileSync(secret, "outside of every grant");
    mkdirSync(join(folder, "data"));
    writeFileSync(join(folder, "data", "a.txt"), "granted");
    const tool = (name: string): object => ({
      name,
      description: name,
      inputSchema: { type: "object", properties: { file: { type: "string" } }, required: ["file"] },
      invocation: { cli: { command: "cat {file}" } },
    });
    const file = {
      kind: "MCPToolDefinitions",
      schemaVersion: "0.2.0",
      name: "sandboxed",
      version: "1.0.0",
      sandbox: { mode: "enforce", fs: { read: ["./data"] } },
      tools: [tool("show")],
    };
    writeFileSync(join(folder, "mcpfile.yaml"), JSON.stringify(file));
    const { workspace } = await open(folder);
    expect(await text(workspace, "sandboxed.show", { file: join(folder, "data", "a.txt") })).toBe("granted");
    const refused = await workspace.callTool("sandboxed.show", { file: secret });
    expect(refused.isError).toBe(true);
    expect(JSON.stringify(refused)).not.toContain("outside of every grant");
  });

  it("a changed sandbox config restarts the server with the new sandbox", async () => {
    const folder = scratch();
    const file = join(folder, "data.txt");
    writeFileSync(file, "the data");
    const write = (sandbox: object): void =>
      writeFileSync(
        join(folder, "portolan.yaml"),
        JSON.stringify({ servers: { files: { command: NODE, args: [FILESYSTEM, folder], sandbox } } }),
      );
    write({ mode: "enforce", fs: { read: [folder] } });
    const { workspace, events } = await open(folder);
    expect(await text(workspace, "files.read_text_file", { path: file })).toContain("the data");
    write({ mode: "enforce", fs: { write: [folder] } });
    await until(() => events.filter(({ type }) => type === "mcp.server_ready").length === 2);
    await text(workspace, "files.write_file", { path: file, content: "changed" });
    expect(readFileSync(file, "utf8")).toBe("changed");
  });

  it("two servers that share a process are both reported for a path that their sandbox hides", async () => {
    const folder = scratch();
    mkdirSync(join(folder, "data"));
    const server = { command: NODE, args: [FILESYSTEM, join(folder, "data")], sandbox: "enforce" };
    writeFileSync(
      join(folder, "portolan.yaml"),
      JSON.stringify({ servers: { filesystem: server, notes: server } }),
    );
    const { workspace } = await open(folder);
    const about = workspace.diagnostics.filter(({ code }) => code === "SANDBOX_DENIED");
    expect(new Set(about.map((one) => one.server))).toEqual(new Set(["filesystem", "notes"]));
    expect(about).toHaveLength(2);
  });

  it("a server with home: kept finds the files that it wrote to HOME", async () => {
    const folder = scratch();
    const script = join(folder, "server.mjs");
    writeFileSync(
      script,
      `import { existsSync, writeFileSync } from "node:fs";
       const mark = process.env.HOME + "/mark";
       process.stderr.write(existsSync(mark) ? "again\\n" : "first\\n");
       writeFileSync(mark, "x");
       await import(${JSON.stringify(pathToFileURL(stdioCommand().args[0] as string).href)});`,
    );
    writeFileSync(join(folder, "package.json"), "{}");
    const start = async (home: "kept" | "private"): Promise<string> => {
      let said = "";
      const mcp = await connectMcp({
        transport: "stdio",
        command: NODE,
        args: [script],
        cwd: folder,
        name: `homely-${home}`,
        sandbox: {
          mode: "enforce",
          home,
          fs: { read: [fileURLToPath(new URL("../fixtures", import.meta.url))] },
        },
        onStderr: (chunk) => (said += chunk),
      });
      await mcp.close();
      return said;
    };
    expect(await start("kept")).toContain("first");
    expect(await start("kept")).toContain("again");
    expect(await start("private")).toContain("first");
    expect(await start("private")).toContain("first");
  });

  it("many starts and stops leave no open resources behind", { timeout: 60_000 }, async () => {
    const count = (): number => process.getActiveResourcesInfo().length;
    const once = async (): Promise<void> => {
      const mcp = await connectMcp({
        transport: "stdio",
        ...stdioCommand(),
        sandbox: { mode: "enforce", network: ["example.com"] },
      });
      await mcp.close();
    };
    await once();
    const before = count();
    for (let round = 0; round < 15; round += 1) await once();
    await until(() => count() <= before + 2);
  });
});
