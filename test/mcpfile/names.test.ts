// mcpfiles and other config files as the target of a command: by which names their tools and prompts are found.

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { envelope, type Ran, resultText as wholeText } from "../helpers/cli.ts";
import { openWorkspace } from "../../src/hub/index.ts";
import { runHere } from "../helpers/in-process.ts";
import { folderWith, serve } from "../helpers/mcpfile.ts";
import { head, indented, ONE, SAY, tool, TWO } from "../helpers/mcpfile-texts.ts";

const fixtures = fileURLToPath(new URL("../fixtures/", import.meta.url));

/** A folder with these files, in which the command runs. */
function setUp(files: Record<string, string>): (...words: string[]) => Promise<Ran> {
  const cwd = folderWith(files);
  return (...words) => runHere(words, cwd, { HOME: join(cwd, "home") });
}

/** Commands end their output with a line break. */
const resultText = (ran: Ran): string => wholeText(ran).trimEnd();

it("a file with one server: its tools are called by bare and by full names", async () => {
  const run = setUp({ "mcpfile.yaml": ONE });
  const listed = await run("list", "mcpfile.yaml");
  expect(JSON.parse(listed.out)).toMatchObject({
    server: { name: "my-tools", info: { name: "my-tools", version: "1.2.3" } },
    tools: [{ name: "say" }],
  });
  for (const words of [["say"], ["my-tools.say"], ["my-tools", "say"], ["mcp_my-tools_say"]])
    expect(resultText(await run("call", "mcpfile.yaml", ...words, "text=hi"))).toBe("hi");
  expect(resultText(await run("call", "./mcpfile.yaml", 'say(text: "a b; $(c)")'))).toBe("a b; $(c)");
  expect(envelope(await run("call", "mcpfile.yaml", "sai"))).toMatchObject({
    code: "TOOL_NOT_FOUND",
    hint: 'Did you mean "say"?',
  });
});

it("a file with several servers: a tool is called by the names of server and tool", async () => {
  const run = setUp({ "tools.yaml": TWO });
  const listed = JSON.parse((await run("list", "tools.yaml")).out) as { tools: { name: string }[] };
  expect(listed.tools.map(({ name }) => name)).toEqual(["mcp_one_say", "mcp_two_shout"]);
  expect((await run("list", "tools.yaml", "two", "--text")).out).toContain("function shout(");
  expect(resultText(await run("call", "tools.yaml", "two.shout", "text=hi"))).toBe("HI");
  expect(envelope(await run("call", "tools.yaml", "shuot", "text=hi"))).toMatchObject({
    code: "TOOL_NOT_FOUND",
    hint: 'Did you mean "shout"?',
  });
});

it("a file with several servers: a tool name that only one server has is enough", async () => {
  const run = setUp({ "mcpfile.yaml": `${TWO}${indented(SAY)}` });
  expect(resultText(await run("call", "mcpfile.yaml", "shout", "text=hi"))).toBe("HI");
  expect(resultText(await run("call", 'shout(text: "hi")'))).toBe("HI");
  expect(envelope(await run("call", "mcpfile.yaml", "say", "text=hi"))).toMatchObject({
    code: "NAME_AMBIGUOUS",
    hint: "Write one.say or two.say.",
  });
});

it("the tool names of the file work and are listed, also with a long server name", async () => {
  const long = "a-server-with-a-name-of-which-an-alias-has-only-a-part";
  const prompt = `prompts:
  - name: greet_somebody_politely
    description: Greets.
    invocation: {cli: {command: "node --print 1"}}
`;
  const run = setUp({
    "one.yaml": `${head(long)}tools:\n${tool("say.it_as_loud_as_you_can", "process.argv[1]")}${prompt}`,
    "two.yaml": TWO.replace("name: one", `name: ${long}`).replace("name: say", "name: say_it_very_loudly"),
  });
  const { out } = await run("list", "one.yaml", "--text");
  expect(out).toContain("function say.it_as_loud_as_you_can(text?: string)");
  expect(out).toContain("greet_somebody_politely()");
  for (const word of ["say.it_as_loud_as_you_can", `${long}.say.it_as_loud_as_you_can`])
    expect(resultText(await run("call", "one.yaml", word, "text=hi"))).toBe("hi");
  expect((await run("prompt", "one.yaml", "greet_somebody_politely")).code).toBe(0);
  // Of several servers: the listed name and the one that clients see.
  const listed = /function (\S+say_it_very_loudly)\(/.exec(
    (await run("list", "two.yaml", "--long", "--text")).out,
  )?.[1];
  const { tools } = JSON.parse((await run("list", "two.yaml")).out) as { tools: { name: string }[] };
  for (const word of [listed ?? "", tools[0]?.name ?? ""])
    expect(resultText(await run("call", "two.yaml", word, "text=hi"))).toBe("hi");
});

it("read and prompt work with an mcpfile as the target", async () => {
  const run = setUp({
    "mcpfile.yaml": `${head("docs")}resources:
  - {name: motd, uri: "docs://motd", description: d, mimeType: text/plain, invocation: {cli: {command: "node --print 1+1"}}}
prompts:
  - name: greet
    description: Greets.
    arguments: [{name: who, required: true}]
    inputSchema: {type: object, properties: {who: {type: string}}, required: [who]}
    invocation: {cli: {command: "node --print 'process.argv[1]' {who}"}}
`,
  });
  const read = await run("read", "mcpfile.yaml", "docs://motd");
  expect(JSON.parse(read.out)).toMatchObject({ contents: [{ uri: "docs://motd", text: "2\n" }] });
  const prompted = await run("prompt", "mcpfile.yaml", "greet", "who=Ada");
  expect(JSON.parse(prompted.out)).toMatchObject({ messages: [{ content: { text: "Ada\n" } }] });
});

it("any config file can be the target, and the error explains an invalid target", async () => {
  const run = setUp({
    "mine.json": JSON.stringify({
      mcpServers: { s: { command: "node", args: [join(fixtures, "stdio-server.mjs")] } },
    }),
    "mcpfile.yaml": ONE,
    "broken.yaml": "mcpFileVersion: 0.0.1\nservers: {}\n",
    "empty.yaml": "mcpFileVersion: 0.0.1\n",
  });
  expect(JSON.parse((await run("list", "mine.json")).out)).toMatchObject({ server: { name: "s" } });
  const wrong = async (...words: string[]) => envelope(await run(...words));
  expect(await wrong("list", "nothing.yaml")).toMatchObject({
    message: 'There is no file "nothing.yaml".',
  });
  expect(await wrong("call", "./nothing.yaml", "a")).toMatchObject({ code: "TARGET_INVALID" });
  expect(await wrong("list", "mcpfile.yaml", "-w", ".")).toMatchObject({ code: "USAGE" });
  expect(await wrong("call", "mcpfile.yaml")).toMatchObject({ message: "No tool was given." });
  expect((await wrong("list", "broken.yaml")).message).toMatch(/^broken\.yaml:2:10 servers must be a list/);
  expect(await wrong("list", "empty.yaml")).toMatchObject({ message: "empty.yaml has no servers." });
});

it("leaves out a tool that is wrong, says why, and serves the others", async () => {
  const wrong = tool("odd", "1").replace("type: string", "type: strin");
  const files = { "mcpfile.yaml": `${ONE}${wrong}`, "all.yaml": `${head("all")}tools:\n${wrong}` };
  const run = setUp(files);
  const listed = JSON.parse((await run("list", "mcpfile.yaml")).out) as Record<string, object[]>;
  expect(listed).toMatchObject({
    tools: [{ name: "say" }],
    diagnostics: [{ tool: "odd", severity: "error", line: 12 }],
  });
  const called = await run("call", "mcpfile.yaml", "say", "text=hi");
  expect(JSON.parse(called.out)).toMatchObject({ content: [{ text: "hi\n" }] });
  expect(called.err).toMatch(/not loaded[^]*mcpfile\.yaml:12:\d+ .*strin/);
  expect(envelope(await run("call", "mcpfile.yaml", "odd"))).toMatchObject({
    code: "TOOL_NOT_FOUND",
    hint: expect.stringMatching(/^"[a-z_-]+" is not loaded because of an error: mcpfile\.yaml:12:/),
  });
  expect((await run("validate", "mcpfile.yaml")).code).toBe(1);
  // Where no tool is left, the error is the answer.
  expect(envelope(await run("list", "all.yaml"))).toMatchObject({ code: "FILE_INVALID" });

  const folder = folderWith(files);
  await using workspace = await openWorkspace(join(folder, "mcpfile.yaml"), { snapshots: false });
  expect((await workspace.tools()).map(({ name }) => name)).toEqual(["mcp_my-tools_say"]);
  expect(workspace.diagnostics).toMatchObject([{ tool: "odd" }]);
  const served = await serve(join(folder, "mcpfile.yaml"));
  expect(await served.names()).toHaveLength(1);
  expect(served.diagnostics).toMatchObject([{ tool: "odd" }]);
});

it("a secret that is missing blocks only the tools that use it, until it is set", async () => {
  const open = `  - {name: open, description: d, invocation: {cli: {command: "node --print 1"}}}\n`;
  const closed = open.replace("open", "closed").replace("print 1", "print 2 ${NAMES_TEST_SECRET}");
  const folder = folderWith({ "mcpfile.yaml": `${head("half")}tools:\n${open}${closed}` });
  await using workspace = await openWorkspace(join(folder, "mcpfile.yaml"), { snapshots: false });
  // This test does not depend on a keyring of the machine.
  expect(workspace.diagnostics.filter(({ severity }) => severity !== "info")).toMatchObject([
    {
      code: "SECRET_MISSING",
      severity: "warning",
      message: expect.stringContaining("do not work: tool closed."),
      hint: expect.stringContaining("portolan secrets set NAMES_TEST_SECRET"),
    },
  ]);
  expect((await workspace.callTool("half.open")).text).toBe("1\n");
  await expect(workspace.callTool("half.closed")).rejects.toMatchObject({ code: "SECRET_MISSING" });
  expect(workspace.health()).toMatchObject([{ state: "ready" }]);
  process.env["NAMES_TEST_SECRET"] = "x";
  onTestFinished(() => void delete process.env["NAMES_TEST_SECRET"]);
  expect((await workspace.callTool("half.closed")).text).toBe("2\n");
});

it("output that breaks the outputSchema of a command is delivered with a warning, since the command ran", async () => {
  const text = `${head("odd")}tools:
  - name: order
    description: d
    outputSchema: {type: object, required: [id]}
    invocation: {cli: {command: "echo {{}}"}}
`;
  const folder = folderWith({ "mcpfile.yaml": text });
  await using workspace = await openWorkspace(join(folder, "mcpfile.yaml"), { snapshots: false });
  const result = await workspace.callTool("odd.order");
  expect(result.isError).toBeFalsy();
  expect(result.text).toMatch(/^\{\}\n[^]*Warning: The output does not match/);
  expect(workspace.diagnostics).toMatchObject([{ code: "OUTPUT_INVALID", severity: "warning" }]);
});
