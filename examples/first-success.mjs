// The first minute with Portolan: look at a public MCP server, then call one of its tools. Run by `npm start`.

import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const command = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const everything = createRequire(import.meta.url).resolve(
  "@modelcontextprotocol/server-everything/dist/index.js",
);
const target = `node "${everything}"`;

function portolan(...args) {
  const shown = args.map((arg) =>
    arg === target ? '"npx -y @modelcontextprotocol/server-everything"' : arg,
  );
  console.log(`\n$ portolan ${shown.join(" ")}\n`);
  const { status } = spawnSync(process.execPath, [command, ...args], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

portolan("list", target, "--text");
portolan("call", target, "get-sum", "a=2", "b=40", "--text");
