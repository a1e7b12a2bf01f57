// Answers a server request: the server sends an elicitation during a call, and one handler answers it in both protocol eras.

import { createRequire } from "node:module";
import { connectMcp } from "portolan";

const everything = createRequire(import.meta.url).resolve(
  "@modelcontextprotocol/server-everything/dist/index.js",
);

const mcp = await connectMcp({
  transport: "stdio",
  command: "node",
  args: [everything],
  sandbox: "warn",
  handlers: {
    elicit: (request) => {
      console.log("the server asks:", request.message);
      return { action: "accept", content: { name: "Ada" } };
    },
    sample: () => ({ role: "assistant", model: "none", content: { type: "text", text: "Forty-two." } }),
    roots: [{ uri: "file:///workspace", name: "workspace" }],
  },
});
try {
  const { text } = await mcp.callTool("trigger-elicitation-request");
  console.log(text.split("\n").slice(0, 3).join("\n"));
} finally {
  await mcp.close();
}
