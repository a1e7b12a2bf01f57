// Installs the public MCP servers and clients that are too heavy for devDependencies into .cache/.
// Tests use them when they are there; CI always has them.

import { installOnce } from "./lib/install-once.mjs";
import { findNode24 } from "./lib/node24.mjs";

console.log(installOnce("interop", { shadcn: "4.23.0", supergateway: "4.0.0" }));

console.log(installOnce("srt", { "@anthropic-ai/sandbox-runtime": "0.0.78" }));

// Two of these demand a newer Node than the project does, and get one.
console.log(
  installOnce(
    "interop-clients",
    {
      "@ai-sdk/mcp": "2.0.93",
      "@langchain/core": "1.2.13",
      "@langchain/langgraph": "1.4.18",
      // Later ones demand unpublished versions of other packages, and npm then searches for hours.
      "@langchain/langgraph-sdk": "1.12.3",
      "@langchain/mcp-adapters": "1.1.4",
      "@modelcontextprotocol/inspector": "2.12.0",
    },
    { anyNode: true },
  ),
);
console.log(findNode24());
