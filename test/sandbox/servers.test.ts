// Public servers from npm in the default profile: they work with the grants that they need, and no others.

import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectMcp, type McpConnection, type SandboxConfig } from "../../src/index.ts";
import { needs } from "../helpers/needs.ts";

function program(name: string): string {
  const manifest = fileURLToPath(new URL(`../../node_modules/${name}/package.json`, import.meta.url));
  const { bin } = JSON.parse(readFileSync(manifest, "utf8")) as { bin: string | Record<string, string> };
  return join(dirname(manifest), typeof bin === "string" ? bin : (Object.values(bin)[0] as string));
}

const diagnostics: string[] = [];

async function sandboxed(
  name: string,
  sandbox: SandboxConfig = {},
  { args = [], env = {} }: { args?: string[]; env?: Record<string, string> } = {},
): Promise<McpConnection> {
  const mcp = await connectMcp({
    transport: "stdio",
    command: process.execPath,
    args: [program(name), ...args],
    env,
    name,
    sandbox: { mode: "enforce", ...sandbox },
    onDiagnostic: ({ code, message }) => diagnostics.push(`${code} ${message}`),
  });
  onTestFinished(() => mcp.close());
  return mcp;
}

function scratch(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-sandboxed-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const text = async (mcp: McpConnection, tool: string, input = {}): Promise<string> => {
  const { content } = await mcp.callTool(tool, input);
  return (content ?? []).map((block) => ("text" in block ? String(block.text) : "")).join("");
};

describe("in the sandbox", needs("bubblewrap"), () => {
  it("server-filesystem reads and writes the granted folder, and no other", async () => {
    const [granted, other] = [scratch(), scratch()];
    writeFileSync(join(granted, "a.txt"), "granted");
    writeFileSync(join(other, "b.txt"), "other");
    const mcp = await sandboxed(
      "@modelcontextprotocol/server-filesystem",
      { fs: { write: [granted] } },
      { args: [granted] },
    );
    expect(await text(mcp, "read_text_file", { path: join(granted, "a.txt") })).toContain("granted");
    await text(mcp, "write_file", { path: join(granted, "c.txt"), content: "written" });
    expect(readFileSync(join(granted, "c.txt"), "utf8")).toBe("written");
    expect(await text(mcp, "read_text_file", { path: join(other, "b.txt") })).toContain("denied");
  });

  it("server-filesystem with read access can read files, but not write them", async () => {
    const granted = scratch();
    writeFileSync(join(granted, "a.txt"), "granted");
    const mcp = await sandboxed(
      "@modelcontextprotocol/server-filesystem",
      { fs: { read: [granted] } },
      { args: [granted] },
    );
    expect(await text(mcp, "read_text_file", { path: join(granted, "a.txt") })).toContain("granted");
    const refusal = await text(mcp, "write_file", { path: join(granted, "c.txt"), content: "x" });
    expect(refusal).toMatch(/EROFS|read-only/i);
    expect(existsSync(join(granted, "c.txt"))).toBe(false);
  });

  it("server-filesystem reports an error for each write outside the granted folders", async () => {
    const [other, home] = [scratch(), realpathSync(homedir())];
    writeFileSync(join(other, "b.txt"), "other");
    // The server itself would write anywhere, because `/` is its argument.
    const mcp = await sandboxed("@modelcontextprotocol/server-filesystem", {}, { args: ["/", other] });
    const name = "portolan-lost.txt";
    const paths = [join(home, name), join(home, "Documents", name), join(other, name), join(other, "b.txt")];
    for (const path of [...paths, join(process.cwd(), name), `/srv/${name}`]) {
      const { isError } = await mcp.callTool("write_file", { path, content: "lost" });
      expect({ path, isError }).toEqual({ path, isError: true });
    }
    const made = await mcp.callTool("create_directory", { path: join(home, "portolan-lost/a") });
    expect(made.isError).toBe(true);
    expect(readFileSync(join(other, "b.txt"), "utf8")).toBe("other");
  });

  it("a folder in the roots of the client is readable without a grant", async () => {
    const root = scratch();
    writeFileSync(join(root, "a.txt"), "of the caller");
    const mcp = await connectMcp({
      transport: "stdio",
      command: process.execPath,
      args: [program("@modelcontextprotocol/server-filesystem"), root],
      sandbox: { mode: "enforce" },
      handlers: { roots: [{ uri: pathToFileURL(root).href, name: "work" }] },
    });
    onTestFinished(() => mcp.close());
    expect(await text(mcp, "read_text_file", { path: join(root, "a.txt") })).toContain("of the caller");
  });

  it("server-memory keeps its graph in a granted folder", async () => {
    const folder = scratch();
    const file = join(folder, "memory.json");
    const entities = [{ name: "box", entityType: "thing", observations: ["holds"] }];
    const mcp = await sandboxed(
      "@modelcontextprotocol/server-memory",
      { fs: { write: [folder] } },
      { env: { MEMORY_FILE_PATH: file } },
    );
    await text(mcp, "create_entities", { entities });
    expect(await text(mcp, "read_graph")).toContain("holds");
    expect(readFileSync(file, "utf8")).toContain("holds");
  });

  it("server-everything works without any grant", async () => {
    const mcp = await sandboxed("@modelcontextprotocol/server-everything");
    expect(await text(mcp, "echo", { message: "hello" })).toBe("Echo: hello");
    const [resource] = await mcp.listResources();
    await mcp.readResource(String(resource?.uri));
  });

  it.each([
    ["@modelcontextprotocol/server-github", ["api.github.com"]],
    ["@upstash/context7-mcp", ["context7.com", "*.context7.com"]],
    ["@modelcontextprotocol/server-budget-allocator", []],
  ])("%s lists its tools", async (name, network) => {
    const mcp = await sandboxed(name, { network }, { args: name.includes("budget") ? ["--stdio"] : [] });
    expect((await mcp.listToolDefinitions()).length).toBeGreaterThan(0);
  });

  it("a connection to a host that is not granted is denied, and the diagnostic names the host", async () => {
    diagnostics.length = 0;
    const mcp = await sandboxed("@modelcontextprotocol/server-github", { network: ["example.com"] });
    await text(mcp, "search_repositories", { query: "portolan" }).catch(() => "refused");
    expect(diagnostics.find((one) => one.startsWith("SANDBOX_DENIED"))).toContain("api.github.com");
  });
});
