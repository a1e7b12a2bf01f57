// The package as users get it from the registry: the packed tarball is installed into an empty folder, run, imported and compiled against.

import { execFile } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { loadedBy } from "../helpers/cli.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const shell = process.platform === "win32";

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string; readonly mode: number }[];
}

let folder: string;
let packed: Packed;

describe("the packed package", { timeout: 120_000 }, () => {
  beforeAll(async () => {
    if (!existsSync(join(root, "dist", "index.js")))
      throw new Error("There is no dist/; run `npm run build` first.");
    folder = await realpath(await mkdtemp(join(tmpdir(), "portolan-package-")));
    const { stdout } = await run(
      "npm",
      ["pack", "--ignore-scripts", "--json", "--pack-destination", folder],
      { cwd: root, shell },
    );
    const [found] = JSON.parse(stdout) as Packed[];
    if (found === undefined) throw new Error("npm pack made nothing");
    packed = found;
    await writeFile(
      join(folder, "package.json"),
      JSON.stringify({ name: "user", private: true, type: "module" }),
    );
    const install = [
      "install",
      "--prefer-offline",
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      `./${packed.filename}`,
    ];
    await run("npm", install, { cwd: folder, shell });
  }, 180_000);

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  test("contains the program, its types, schemas and documents, and no other files", () => {
    const paths = packed.files.map(({ path }) => path);
    const needed = [
      "LICENSE",
      "README.md",
      "package.json",
      "dist/index.js",
      "dist/index.d.ts",
      "schemas/portolan.schema.json",
      manifest.bin.portolan,
    ];
    expect(needed.filter((path) => !paths.includes(path))).toEqual([]);
    const papers = new Set([
      ...["LICENSE", "README.md", "CHANGELOG.md", "package.json"],
      ...["dist/THIRD-PARTY-NOTICES.txt", "dist/cli/package.json"],
    ]);
    const known =
      /^(?:dist\/.*\.(?:[cm]?js|d\.ts)|dist\/console\/.*\.(?:js|css|html)(?:\.gz|\.br)?|schemas\/.*\.json)$/;
    expect(paths.filter((path) => !papers.has(path) && !known.test(path))).toEqual([]);
    expect(paths.filter((path) => path.includes(".test."))).toEqual([]);
  });

  test("runs as a command", async () => {
    const { stdout } = await run(join(folder, "node_modules", ".bin", "portolan"), ["--help"], {
      cwd: folder,
      shell,
    });
    expect(stdout).toContain("portolan");
    expect(packed.files.find(({ path }) => path === manifest.bin.portolan)?.mode).toBe(0o755);
  });

  test("is imported as a library", async () => {
    const program =
      'import * as portolan from "portolan"; console.log(typeof portolan.connectMcp, Object.keys(portolan).length);';
    const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", program], {
      cwd: folder,
    });
    expect(stdout).toMatch(/^function \d+\n$/);
  });

  test.each(["portolan/gateway", "portolan/drivers"])("has the entry %s", async (entry) => {
    const program = `import * as entry from "${entry}"; console.log(Object.keys(entry).length > 0);`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", program], {
      cwd: folder,
    });
    expect(stdout).toBe("true\n");
  });

  test.each([
    ["dist/index.js", []],
    ["dist/gateway.js", []],
  ])("the start of %s loads no other packages than %j", (entry, expected) => {
    expect(packagesLoadedBy(join(root, entry))).toEqual(expected);
  });

  test.each([
    { words: ["--version"], maxKilobytes: 260 },
    { words: ["call", "--help"], maxKilobytes: 260 },
    {
      words: ["call", "echo", "text=hi", "--", process.execPath, join(root, "bench", "servers", "stdio.mjs")],
      maxKilobytes: 1_100,
    },
  ])("portolan $words loads little code", async ({ words, maxKilobytes }) => {
    const kilobytes = await kilobytesLoadedBy(words);
    expect(kilobytes).toBeGreaterThan(100);
    expect(kilobytes).toBeLessThan(maxKilobytes);
  });

  test("the compiler names a misspelt field of a server", async () => {
    await mkdir(join(folder, "misspelt"));
    const program =
      'import { openWorkspace } from "portolan";\nawait openWorkspace({ servers: { a: { comand: "x" } } });\n';
    await writeFile(join(folder, "misspelt", "main.ts"), program);
    await writeFile(join(folder, "misspelt", "tsconfig.json"), JSON.stringify(CONSUMER_CONFIG));
    const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
    const findings = await run(process.execPath, [tsc, "-p", "misspelt"], { cwd: folder }).catch(
      (error: { stdout: string }) => error,
    );
    expect(findings.stdout).toMatch(
      /main\.ts\(2,.*'comand' does not exist.*Did you mean to write 'command'\?/,
    );
  });

  test("has types that compile without skipLibCheck", async () => {
    await mkdir(join(folder, "app"));
    await writeFile(join(folder, "app", "main.ts"), CONSUMER);
    await writeFile(join(folder, "app", "tsconfig.json"), JSON.stringify(CONSUMER_CONFIG));
    const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
    // tsc writes its findings to stdout; a rejection alone would only say that it failed.
    const findings = await run(process.execPath, [tsc, "-p", "app"], { cwd: folder }).then(
      ({ stdout }) => stdout,
      (error: { stdout: string }) => error.stdout,
    );
    expect(findings).toBe("");
  });
});

/** The packages that a built file imports before its first line runs, directly or through its chunks. */
function packagesLoadedBy(entry: string): string[] {
  const packages = new Set<string>();
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    const imports = /^(?:im|ex)port\b[^;]*?"([^"]+)";$/gm;
    for (const [, from = ""] of readFileSync(file, "utf8").matchAll(imports))
      if (from.startsWith(".")) visit(resolve(dirname(file), from));
      else if (!from.startsWith("node:")) packages.add(from);
  };
  visit(entry);
  expect(seen.size).toBeGreaterThan(1);
  return [...packages];
}

/** The size of the built files that a command loads. */
async function kilobytesLoadedBy(words: readonly string[]): Promise<number> {
  const { files } = await loadedBy(words);
  const sizes = files.map((file) => statSync(join(root, "dist", "command", file)).size);
  return sizes.reduce((sum, size) => sum + size, 0) / 1024;
}

const CONSUMER = `
import { createServer } from "node:http";
import {
  type AuthOutcome,
  connectMcp,
  type ContentBlock,
  type ContractCall,
  type Contracts,
  type Dispatched,
  type DriverReport,
  type ElicitResult,
  isPortolanError,
  type McpConfig,
  type McpConnection,
  type McpHandlers,
  openWorkspace,
  type OwnName,
  type Resolution,
  type ServerFields,
  type Tool,
  type Workspace,
} from "portolan";
import type { Contracts as SameContracts } from "portolan/drivers";
import { type Gateway, openGateway } from "portolan/gateway";
import type { z, ZodObject } from "zod";

// The tool type of an agent framework that requires a Zod object (the shape of johncch/axle's ExecutableTool).
interface AgentTool<TSchema extends ZodObject<any> = ZodObject<any>> {
  type?: "function";
  name: string;
  description: string;
  schema: TSchema;
  execute(input: z.infer<TSchema>, ctx: { signal: AbortSignal; emit: (chunk: string) => void }): Promise<string | object[]>;
  configure?(config: Record<string, any>): void;
  summarize?(input: z.infer<TSchema>): string;
}
class Agent {
  constructor(readonly options: { tools: AgentTool[] }) {}
}

const program: McpConfig = { command: "node", onStderr: (text) => text.length };
const remote: McpConfig = { url: "https://mcp.example.com/mcp", headers: {} };
const config: McpConfig = { transport: "stdio", command: "node", args: ["server.js"], limits: {} };
const connection: McpConnection = await connectMcp(config);
const tools: Tool[] = await connection.listTools({ prefix: "x" });
const local: AgentTool<ZodObject<{ a: z.ZodString }>>[] = [];
const agent = new Agent({ tools: [...local, ...tools, ...(await connection.listTools())] });
const text: string | undefined = await tools[0]?.execute({ a: agent.options.tools.length });
try {
  const { content, text: all } = await connection.callTool("echo", { text });
  console.log(content, all);
} catch (error) {
  if (isPortolanError(error)) console.log(error.code);
}
// @ts-expect-error: there is no such transport
const wrong: McpConfig = { transport: "pigeon", url: "coo" };
await connection.close();
console.log(wrong, program, remote);

// The type of a content block narrows it, and a block of an unknown type is left for the default branch.
function describe(block: ContentBlock): string {
  if (block.type === "image" || block.type === "audio") return block.mimeType + block.data.length;
  switch (block.type) {
    case "text":
      return block.text;
    case "resource_link":
      return block.uri + (block.title ?? block.name);
    case "resource":
      return block.resource.uri;
    default: {
      // @ts-expect-error: the type is not known, so neither are its fields
      const field: string = block.payload;
      return String(block.type) === "video" ? field : block.type;
    }
  }
}
// @ts-expect-error: an image has no text
const noImage: ContentBlock = { type: "image", text: "" };
console.log([noImage].map(describe));

// The arguments of a tool may be an interface of the program.
interface Sum {
  a: number;
}
const sum: Sum = { a: 1 };
const result = await connection.callTool("sum", sum);
// @ts-expect-error: a result has no such field
console.log(result.structredContent, result.structuredContent, result._meta?.["x"]);
// @ts-expect-error: the field is called content
const misspelt: ElicitResult = { action: "accept", contents: {} };
const handlers: McpHandlers = {
  elicit: (request) =>
    request.mode === "url"
      ? { action: new URL(request.url).protocol === "https:" ? "accept" : "decline" }
      : { action: "accept", content: request.requestedSchema },
  sample: ({ messages, maxTokens }) => ({
    role: "assistant",
    model: "m",
    content: { type: "text", text: messages.map(({ role }) => role).join() + maxTokens },
  }),
};
// @ts-expect-error: the answer to a sampling request names its model
const noModel: McpHandlers = { sample: () => ({ role: "assistant", content: { type: "text", text: "" } }) };
console.log(misspelt, handlers, noModel);

// An agent forwards options that it may not have got.
export async function forward(own: Workspace, tool: Tool, signal: AbortSignal | undefined, ms: number | undefined) {
  await own.callTool("a.b", {}, { signal, timeoutMs: ms, onProgress: undefined });
  await tool.execute({}, { signal, timeoutMs: ms });
  await connection.listTools({ signal, refresh: undefined });
  await openWorkspace({ servers: { a: { command: "x", cwd: undefined } } }, { signal, waitMs: ms, handlers: undefined });
  await connectMcp({ transport: "stdio", command: "x", cwd: undefined, signal, limits: { requestTimeoutMs: ms } });
  await openGateway(".", { access: { token: undefined }, path: undefined, signal });
}

// Servers can be added in a loop.
const servers: Record<string, ServerFields> = {};
for (const name of ["a", "b"]) servers[name] = { command: "node", args: [name], sandbox: "off" };
await openWorkspace({ servers });

// A test can replace each part of a workspace.
const events: Workspace["events"] = { on: () => () => {}, async *[Symbol.asyncIterator]() {} };
const callContract = (contracts: Contracts, call: ContractCall): Promise<Dispatched> => contracts.call(call);
console.log(events, callContract);

// What a workspace returns can be named with the types of the main entry.
const workspace: Workspace = await openWorkspace(".");
const names: ReadonlyMap<string, OwnName> = workspace.toolNames();
const contracts: Contracts | undefined = await workspace.contracts();
const same: SameContracts | undefined = contracts;
const drivers: readonly DriverReport[] = same?.status() ?? [];
const route: Resolution | undefined = contracts?.explain("read-file", { userId: "ann" });
const login: AuthOutcome | undefined = await contracts?.login("files-mcp");
console.log(names, drivers, route, login);

const gateway: Gateway = await openGateway("workspace", { path: "/tools", access: { token: "t" } });
createServer(gateway.handle).on("upgrade", gateway.upgrade);
const response: Response = await gateway.fetch(new Request("http://localhost/tools/mcp"));
console.log(response.status);
await gateway.close();
`;

// The strictest settings of a project, with only the types of Node.js.
const CONSUMER_CONFIG = {
  compilerOptions: {
    target: "es2022",
    lib: ["es2022"],
    module: "nodenext",
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    noEmit: true,
    types: ["node"],
    typeRoots: [join(root, "node_modules", "@types")],
  },
  include: ["*.ts"],
};
