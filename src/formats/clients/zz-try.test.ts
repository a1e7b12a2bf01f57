import { test } from "vitest";
import { parseClientFile } from "./parse.ts";
test("x", () => {
  console.log(
    JSON.stringify(
      parseClientFile(
        `{
  // c
  "mcpServers": {
    "My Server": { "command": "npx", "args": ["-y", "x", 3], "env": {"API_KEY": "sk-1234567890", "B": "\${env:B}/\${C}"}, },
    "bad": {"comand": "x"},
    "h": {"type":"streamable-http","url":"https://x/\${workspaceFolder}","headers":{"Authorization":"Bearer abcdefghijkl"}},
  }
}`,
        "/home/u/p/.cursor/mcp.json",
      ),
      null,
      1,
    ),
  );
});
