// A long call: its progress, and how it is cancelled.

import { createRequire } from "node:module";
import { connectMcp } from "portolan";

const everything = createRequire(import.meta.url).resolve(
  "@modelcontextprotocol/server-everything/dist/index.js",
);

const mcp = await connectMcp({ transport: "stdio", command: "node", args: [everything], sandbox: "warn" });
try {
  const done = await mcp.callTool(
    "trigger-long-running-operation",
    { duration: 1, steps: 4 },
    { onProgress: ({ progress, total }) => console.log(`step ${progress} of ${total}`) },
  );
  console.log(done.text);

  const signal = AbortSignal.timeout(300);
  const error = await mcp
    .callTool("trigger-long-running-operation", { duration: 60, steps: 5 }, { signal })
    .catch((thrown) => thrown);
  console.log(`${error.code}: ${error.message}`);
} finally {
  await mcp.close();
}
