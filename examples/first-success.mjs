// The first minute with Portolan: look at a public MCP server, then call one of its tools.

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const target = "node node_modules/@modelcontextprotocol/server-everything/dist/index.js";

function portolan(...args) {
  console.log(`\n$ portolan ${args.map((arg) => (arg.includes(" ") ? `"${arg}"` : arg)).join(" ")}\n`);
  const { status } = spawnSync(process.execPath, ["dist/cli/main.js", ...args], {
    cwd: root,
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
}

// In a sandbox if this machine can enforce one.
portolan("list", target, "--text", "--sandbox", "warn");
portolan("call", target, "get-sum", "a=2", "b=40", "--text", "--sandbox", "warn");
