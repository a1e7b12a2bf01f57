// Resources and prompts of a server, and completion of a prompt's arguments.

import { createRequire } from "node:module";
import { connectMcp } from "portolan";

const everything = createRequire(import.meta.url).resolve(
  "@modelcontextprotocol/server-everything/dist/index.js",
);

const mcp = await connectMcp({ transport: "stdio", command: "node", args: [everything], sandbox: "warn" });
try {
  const [first] = await mcp.listResources();
  const { contents } = await mcp.readResource(first.uri);
  console.log(`${first.uri}: ${contents[0].text?.slice(0, 40) ?? "binary"}…`);

  for (const prompt of await mcp.listPrompts()) {
    const args = (prompt.arguments ?? []).map((argument) => argument.name + (argument.required ? "" : "?"));
    console.log(`prompt ${prompt.name}(${args.join(", ")})`);
  }
  const { messages } = await mcp.getPrompt("args-prompt", { city: "Lisbon" });
  console.log(messages[0].content.text);

  const { values } = await mcp.complete({ prompt: "completable-prompt" }, { name: "department", value: "E" });
  console.log("departments that begin with E:", values.join(", "));
} finally {
  await mcp.close();
}
