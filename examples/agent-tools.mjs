// Tools of an MCP server for an agent: names, Zod schemas, and a function to call.

import { createRequire } from "node:module";
import { connectMcp } from "portolan";
import { z } from "zod";

const everything = createRequire(import.meta.url).resolve(
  "@modelcontextprotocol/server-everything/dist/index.js",
);

const mcp = await connectMcp({ transport: "stdio", command: "node", args: [everything], sandbox: "warn" });
try {
  const tools = await mcp.listTools({ prefix: "demo" });
  const sum = tools.find((tool) => tool.name === "demo_get-sum");

  console.log(
    `${mcp.server.info?.name} speaks ${mcp.server.revision} (${mcp.server.era}) and has ${tools.length} tools`,
  );
  console.log("what a model is shown:", JSON.stringify(z.toJSONSchema(sum.schema).properties));
  console.log("what a call returns:", await sum.execute({ a: 2, b: 40 }));

  // Input is checked before it is sent, and the error names the field.
  await sum.execute({ a: 2, b: "forty" }).catch((error) => console.log(`${error.code}: ${error.message}`));
} finally {
  await mcp.close();
}
