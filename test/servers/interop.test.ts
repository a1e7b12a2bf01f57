// Public MCP servers as users run them: every transport of each server, in its protocol era.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectMcp, type McpConfig, type McpConnection } from "../../src/index.ts";
import { failure, nextEvent } from "../helpers/connect.ts";
import { needs } from "../helpers/needs.ts";
import { freePort } from "../helpers/free-port.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The program of a package: from node_modules, or from the folder that `npm run interop` fills. */
function program(name: string): string | undefined {
  for (const base of [root, join(root, ".cache/interop")]) {
    const manifest = join(base, "node_modules", name, "package.json");
    if (!existsSync(manifest)) continue;
    const { bin } = JSON.parse(readFileSync(manifest, "utf8")) as { bin: string | Record<string, string> };
    return join(dirname(manifest), typeof bin === "string" ? bin : (Object.values(bin)[0] as string));
  }
  return undefined;
}

async function connect(config: McpConfig): Promise<McpConnection> {
  const mcp = await connectMcp({ onDiagnostic: () => {}, ...config });
  onTestFinished(() => mcp.close());
  return mcp;
}

function stdio(name: string, args: string[] = [], env: Record<string, string> = {}): Promise<McpConnection> {
  return connect({
    transport: "stdio",
    command: process.execPath,
    args: [program(name) as string, ...args],
    env,
    name,
  });
}

/** Starts a server program that listens on a port, and connects as soon as it does. */
async function http(
  name: string,
  args: (port: number) => string[],
  path: string,
  env: (port: number) => Record<string, string> = () => ({}),
): Promise<McpConnection> {
  const port = await freePort();
  const child: ChildProcess = spawn(process.execPath, [program(name) as string, ...args(port)], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env(port) },
    stdio: "ignore",
    detached: true,
  });
  onTestFinished(() => {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  });
  for (;;) {
    try {
      return await connect({ transport: "http", url: `http://127.0.0.1:${port}${path}`, name });
    } catch (error) {
      if ((error as { data?: { reason?: string } }).data?.reason !== "ECONNREFUSED") throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

const EVERYTHING = "@modelcontextprotocol/server-everything";
const everythingScript = join(root, "node_modules", EVERYTHING, "dist/index.js");

const everythingWays: [string, string, () => Promise<McpConnection>][] = [
  ["stdio", "stdio", () => stdio(EVERYTHING)],
  [
    "Streamable HTTP",
    "http",
    () =>
      http(
        EVERYTHING,
        () => ["streamableHttp"],
        "/mcp",
        (port) => ({ PORT: String(port) }),
      ),
  ],
  [
    "HTTP+SSE",
    "sse",
    () =>
      http(
        EVERYTHING,
        () => ["sse"],
        "/sse",
        (port) => ({ PORT: String(port) }),
      ),
  ],
];

const supergateway =
  (output: string, path: string): (() => Promise<McpConnection>) =>
  () =>
    http(
      "supergateway",
      (port) => [
        ...["--stdio", `node "${everythingScript}"`, "--outputTransport", output, "--port", String(port)],
      ],
      path,
    );

const supergatewayWays: typeof everythingWays = [
  ["HTTP+SSE through supergateway", "sse", supergateway("sse", "/sse")],
  ["Streamable HTTP through supergateway", "http", supergateway("streamableHttp", "/mcp")],
];

describe.each(everythingWays)("server-everything over %s", checkEverything);
describe.each(supergatewayWays)("server-everything over %s", needs("supergateway"), checkEverything);

function checkEverything(_way: string, transport: string, open: () => Promise<McpConnection>): void {
  it("lists, calls, reads, gets a prompt, cancels", async () => {
    const mcp = await open();
    expect(mcp.server).toMatchObject({ era: "legacy", transport });
    const tools = await mcp.listTools({ prefix: "every" });
    expect(tools.length).toBeGreaterThanOrEqual(13);
    expect(await tools.find((tool) => tool.name === "every_echo")?.execute({ message: "hello" })).toBe(
      "Echo: hello",
    );
    expect(
      (await mcp.callTool("get-structured-content", { location: "New York" })).structuredContent,
    ).toBeDefined();
    const image = await mcp.callTool("get-tiny-image");
    expect(image.content?.some((block) => block.type === "image")).toBe(true);
    const [resource] = await mcp.listResources();
    expect((await mcp.readResource(resource?.uri as string)).contents).toHaveLength(1);
    expect((await mcp.listResourceTemplates()).length).toBeGreaterThan(0);
    expect((await mcp.getPrompt("args-prompt", { city: "Lisbon" })).messages.length).toBeGreaterThan(0);
    const signal = AbortSignal.timeout(100);
    expect(
      (await failure(mcp.callTool("trigger-long-running-operation", { duration: 60, steps: 10 }, { signal })))
        .code,
    ).toBe("CANCELLED");
    expect((await mcp.callTool("get-sum", { a: 1, b: 2 })).text).toContain("3");
  });
}

it("server-everything announces a changed tool list, and sends requests that its client can answer", async () => {
  const asked: string[] = [];
  const mcp = await connect({
    transport: "stdio",
    command: process.execPath,
    args: [everythingScript],
    handlers: {
      elicit: ({ message }) => {
        asked.push(message);
        return { action: "decline" };
      },
      sample: () => ({ role: "assistant", model: "m", content: { type: "text", text: "sampled words" } }),
      roots: [{ uri: "file:///somewhere", name: "somewhere" }],
    },
  });
  await nextEvent(mcp, "toolsChanged");
  const names = (await mcp.listToolDefinitions()).map((tool) => tool.name);
  expect(names).toEqual(
    expect.arrayContaining(["trigger-elicitation-request", "trigger-sampling-request", "get-roots-list"]),
  );
  await mcp.callTool("trigger-elicitation-request");
  expect(asked).toHaveLength(1);
  expect((await mcp.callTool("trigger-sampling-request", { prompt: "p" })).text).toContain("sampled words");
  expect((await mcp.callTool("get-roots-list")).text).toContain("file:///somewhere");
});

it("server-filesystem: results match the outputSchema", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-fs-"));
  writeFileSync(join(folder, "note.txt"), "seven seas");
  const mcp = await stdio("@modelcontextprotocol/server-filesystem", [folder]);
  expect(await mcp.listTools()).toHaveLength(14);
  expect((await mcp.callTool("list_directory", { path: folder })).text).toContain("note.txt");
  expect(
    (await mcp.callTool("read_text_file", { path: join(folder, "note.txt") })).structuredContent,
  ).toEqual({ content: "seven seas" });
  expect((await mcp.callTool("read_text_file", { path: "/etc/passwd" })).isError).toBe(true);
});

it("server-memory stores entities and finds them", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "portolan-memory-")), "memory.json");
  const mcp = await stdio("@modelcontextprotocol/server-memory", [], { MEMORY_FILE_PATH: file });
  await mcp.callTool("create_entities", {
    entities: [{ name: "Ada", entityType: "person", observations: ["counts"] }],
  });
  expect((await mcp.callTool("search_nodes", { query: "Ada" })).text).toContain("counts");
});

it("server-github uses the oldest revision", async () => {
  const mcp = await stdio("@modelcontextprotocol/server-github");
  expect(mcp.server.revision).toBe("2024-11-05");
  expect(await mcp.listTools()).toHaveLength(26);
});

it("server-budget-allocator keeps the fields of the Apps extension", async () => {
  const mcp = await stdio("@modelcontextprotocol/server-budget-allocator", ["--stdio"]);
  const [tool] = await mcp.listToolDefinitions();
  const meta = tool?._meta as { ui: { resourceUri: string } } | undefined;
  const resourceUri = meta?.ui.resourceUri as string;
  expect(resourceUri).toMatch(/^ui:/);
  const [page] = (await mcp.readResource(resourceUri)).contents;
  expect(page).toMatchObject({ uri: resourceUri, mimeType: "text/html;profile=mcp-app" });
  expect((await mcp.callTool(tool?.name as string)).isError).not.toBe(true);
});

describe.each([
  ["stdio", () => stdio("@upstash/context7-mcp")],
  [
    "http",
    () => http("@upstash/context7-mcp", (port) => ["--transport", "http", "--port", String(port)], "/mcp"),
  ],
] as const)("context7 over %s", (transport, open) => {
  it("is used in the modern era", async () => {
    const mcp = await open();
    expect(mcp.server).toMatchObject({ era: "modern", revision: "2026-07-28", transport });
    const tools = await mcp.listTools();
    expect(tools).toHaveLength(2);
    expect((await failure(mcp.callTool(tools[0]?.definition.name as string, { nonsense: 1 }))).code).toBe(
      "INPUT_INVALID",
    );
    await mcp.ping();
    const controller = new AbortController();
    const call = failure(
      tools[0]?.execute(
        { query: "react", libraryName: "react" },
        { signal: controller.signal },
      ) as Promise<string>,
    );
    controller.abort();
    expect((await call).code).toBe("CANCELLED");
  });
});

it("shadcn over stdio is used in the modern era", needs("shadcn"), async () => {
  const mcp = await stdio("shadcn", ["mcp"]);
  expect(mcp.server).toMatchObject({ era: "modern", transport: "stdio" });
  const tools = await mcp.listTools();
  expect(tools).toHaveLength(7);
  const result = await mcp.callTool("get_project_registries");
  expect(result.content?.length).toBeGreaterThan(0);
});
