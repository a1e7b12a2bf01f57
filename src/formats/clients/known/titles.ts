// What the clients are called.

import type { ClientId } from "../types.ts";

export const CLIENT_TITLES: Readonly<Record<ClientId, string>> = {
  "claude-code": "Claude Code",
  "claude-desktop": "Claude Desktop",
  cursor: "Cursor",
  windsurf: "Windsurf",
  vscode: "VS Code",
  codex: "Codex",
  gemini: "Gemini CLI",
  opencode: "OpenCode",
  axle: "Axle",
};
