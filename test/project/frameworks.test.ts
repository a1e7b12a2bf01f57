// The recipes of docs/guides/frameworks.md: compiled against the real frameworks, and run with models that answer by a script.

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { blocksOf, FRAMEWORKS_PAGE } from "../helpers/docs-snippets.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-frameworks-")));
const EVERYTHING = join(root, "node_modules/@modelcontextprotocol/server-everything/dist/index.js");
const RECIPES = ["ai-sdk", "langchain", "openai-agents", "loop", "images", "bridge"] as const;

/** Tools in the types of frameworks, without a cast. Axle is not a dependency: its interface is written here. */
const TYPES = `
import { tool, type ToolSet } from "ai";
import type { z, ZodObject } from "zod";
import type { ContentBlock, Tool } from "portolan";

interface AxleTool<S extends ZodObject = ZodObject> {
  name: string;
  description: string;
  schema: S;
  execute(input: z.infer<S>): Promise<string>;
}
export const toAxle = (one: Tool): AxleTool => one;
export const toSdk = ({ schema, execute }: Tool): ToolSet[string] => tool({ inputSchema: schema, execute });
export const byUnknown = (one: Tool): ((input: unknown) => Promise<string>) => one.execute;
export function show(block: ContentBlock): string {
  switch (block.type) {
    case "text": return block.text;
    case "image": case "audio": return block.mimeType + block.data.length;
    case "resource_link": return block.uri;
    case "resource": return block.resource.uri;
    default: return block.type;
  }
}
// @ts-expect-error a misspelt option is still an error
export const wrong = (one: Tool) => one.execute({}, { timeoutMS: 1 });
`;

const SUM = "mcp_demo_get-sum";
/** The model of each recipe makes one call after the other: the first ones fail, and it has to see why. */
const CALLS = [
  { name: SUM, input: { a: "two", b: 40 } },
  { name: "mcp_demo_get-resource-reference", input: { resourceType: "Text", resourceId: -7 } },
  { name: "mcp_demo_no-such-tool", input: {} },
  { name: SUM, input: { a: 2, b: 40 } },
];
/** Each program prints the answer of its model, which repeats the results of its calls. */
const PROGRAMS: Readonly<Record<(typeof RECIPES)[number], string>> = {
  "ai-sdk": `
import { MockLanguageModelV3 } from "ai/test";
import { askAiSdk } from "./ai-sdk.js";
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const model = new MockLanguageModelV3({
  doGenerate: async ({ prompt }) => {
    const results = prompt.filter(({ role }) => role === "tool");
    const call = CALLS[results.length];
    if (call !== undefined)
      return { content: [{ type: "tool-call", toolCallId: String(results.length), toolName: call.name, input: JSON.stringify(call.input) }], finishReason: { unified: "tool-calls" }, usage, warnings: [] };
    return { content: [{ type: "text", text: JSON.stringify(results) }], finishReason: { unified: "stop" }, usage, warnings: [] };
  },
});
console.log(await askAiSdk(model, "What is 2 + 40?"));`,
  langchain: `
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage } from "@langchain/core/messages";
import { askLangChain } from "./langchain.js";
class Scripted extends BaseChatModel {
  _llmType() { return "scripted"; }
  bindTools(tools) { this.tools = tools; return this; }
  async _generate(messages) {
    const results = messages.filter((message) => message.getType() === "tool");
    const call = CALLS[results.length];
    const message = call === undefined
      ? new AIMessage(JSON.stringify(results.map(({ content, status, tool_call_id }) => ({ content, status, tool_call_id }))))
      : new AIMessage({ content: "", tool_calls: [{ id: String(results.length), name: call.name, args: call.input }] });
    return { generations: [{ text: "", message }] };
  }
}
console.log(await askLangChain(new Scripted({}), "What is 2 + 40?"));`,
  // The framework replaces "-" in names of tools. It ends the run of a model that calls an unknown tool.
  "openai-agents": `
import { Usage } from "@openai/agents-core";
import { askOpenAiAgents } from "./openai-agents.js";
const known = CALLS.filter(({ name }) => !name.includes("no-such-tool"));
const model = {
  async getResponse({ input, tools }) {
    const results = input.filter(({ type }) => type === "function_call_result");
    const call = known[results.length];
    const output = call === undefined
      ? { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: JSON.stringify(results) }] }
      : { type: "function_call", callId: String(results.length), name: tools.find(({ name }) => name === call.name.replaceAll("-", "_")).name, status: "completed", arguments: JSON.stringify(call.input) };
    return { usage: new Usage(), output: [output] };
  },
};
console.log(await askOpenAiAgents(model, "What is 2 + 40?"));`,
  loop: `
import { askInLoop } from "./loop.js";
const complete = async (messages) => {
  const results = messages.filter(({ role }) => role === "tool");
  const call = CALLS[results.length];
  if (call === undefined) return { role: "assistant", text: JSON.stringify(results) };
  return { role: "assistant", text: "", calls: [{ id: String(results.length), ...call }] };
};
console.log(await askInLoop(complete, "What is 2 + 40?"));`,
  images: `
import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { openWorkspace } from "portolan";
import { withImages } from "./images.js";
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const model = new MockLanguageModelV3({
  doGenerate: async ({ prompt }) => {
    const last = prompt.at(-1);
    if (last.role === "user")
      return { content: [{ type: "tool-call", toolCallId: "1", toolName: "image", input: "{}" }, { type: "tool-call", toolCallId: "2", toolName: "reference", input: JSON.stringify(CALLS[1].input) }], finishReason: { unified: "tool-calls" }, usage, warnings: [] };
    return { content: [{ type: "text", text: JSON.stringify(last.content.map(({ output }) => output)) }], finishReason: { unified: "stop" }, usage, warnings: [] };
  },
});
const workspace = await openWorkspace({ servers: { demo: { npm: "@modelcontextprotocol/server-everything" } } });
const tools = await workspace.tools();
const image = withImages(workspace, tools.find(({ name }) => name === "mcp_demo_get-tiny-image"));
const reference = withImages(workspace, tools.find(({ name }) => name === CALLS[1].name));
const { text } = await generateText({ model, prompt: "Show it.", tools: { image, reference }, stopWhen: stepCountIs(2) });
await workspace.close();
console.log(text);`,
  bridge: `
import { runBridge } from "./bridge.js";
const names = await runBridge();
if (!names.includes("mcp_demo_echo") || names.includes("mcp_demo_toggle-simulated-logging")) throw new Error(names.join());
console.log(names.join());`,
};

const CORRECTED = [
  /number/, // what is wrong with the input
  /Invalid resourceId: -7/,
  /The sum of 2 and 40 is 42\./,
];
const UNKNOWN = /no-such-tool/;
const HINT = /Hint: The tool ran and failed/;
/** The texts that the output of each program has. */
const EXPECTED: Readonly<Record<(typeof RECIPES)[number], readonly RegExp[]>> = {
  "ai-sdk": [
    ...CORRECTED,
    UNKNOWN,
    HINT,
    /"type":"error-text","value":"PortolanError: [^"]*Invalid resourceId: -7/,
  ],
  langchain: [...CORRECTED, UNKNOWN, HINT, /"status":"error","tool_call_id":"2"/],
  "openai-agents": [...CORRECTED, HINT],
  loop: [...CORRECTED, UNKNOWN, HINT],
  images: [
    /\{"type":"image-data","data":"iVBOR[^"]+","mediaType":"image\/png"\}/,
    /\{"type":"error-text","value":"[^"]*Invalid resourceId: -7/,
  ],
  bridge: [/mcp_demo_echo/],
};

/** The server of the pages is an npm package; here the installed copy runs without a sandbox, which these tests are not about. */
function withInstalledServer(text: string): string {
  const command = JSON.stringify(process.execPath);
  const installed = `command: ${command}, args: [${JSON.stringify(EVERYTHING)}], sandbox: "off"`;
  const changed = text
    .replace('npm: "@modelcontextprotocol/server-everything"', installed)
    .replace(/command: "npx",\s*args: \["-y", "@modelcontextprotocol\/server-everything"\]/, installed);
  expect(changed).not.toContain('server-everything"');
  return changed;
}

beforeAll(async () => {
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(root, join(folder, "node_modules/portolan"), "dir");
  for (const name of ["ai", "zod", "@langchain", "@openai", "@types"])
    symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name), "dir");
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const compilerOptions = {
    ...{ noEmit: false, declaration: false, declarationMap: false, sourceMap: false, incremental: false },
    // The types of the frameworks name types of browsers, and do not pass the checks of this project.
    ...{
      skipLibCheck: true,
      lib: ["es2023", "esnext.disposable", "dom"],
      typeRoots: ["node_modules/@types"],
    },
  };
  const config = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["*.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const blocks = blocksOf(FRAMEWORKS_PAGE).filter(({ language }) => language === "ts");
  expect(blocks).toHaveLength(RECIPES.length);
  for (const [index, name] of RECIPES.entries())
    writeFileSync(join(folder, `${name}.ts`), withInstalledServer(blocks[index]?.text ?? ""));
  writeFileSync(join(folder, "types.ts"), TYPES);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function node(...args: string[]): Promise<{ code: number | string | null; out: string }> {
  const env = { ...process.env, OPENAI_AGENTS_DISABLE_TRACING: "1", NODE_NO_WARNINGS: "1" };
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: folder, env }, (error, out, err) =>
      resolve({ code: error?.code ?? 0, out: `${out}${error === null ? "" : err}` }),
    );
  });
}

it("tools and recipes fit the types of the frameworks", async () => {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  expect(await node(tsc, "-p", ".")).toEqual({ code: 0, out: "" });
});

it.each(RECIPES)("%s runs, also after calls that fail", async (name) => {
  const [, imports = "", rest = ""] = /^((?:\s*import .*\n)*)([^]*)$/.exec(PROGRAMS[name]) ?? [];
  const program = `${imports}const CALLS = ${JSON.stringify(CALLS)};\n${rest}`;
  writeFileSync(join(folder, `run-${name}.mjs`), withInstalledServer(program));
  const { code, out } = await node(join(folder, `run-${name}.mjs`));
  expect({ code, out }).toEqual({ code: 0, out: expect.any(String) });
  for (const text of EXPECTED[name]) expect(out).toMatch(text);
});
