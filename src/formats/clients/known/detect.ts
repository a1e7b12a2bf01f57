// Detects the client of a file by its path or its content; title and file format of each client.

import { isObject } from "../../../model/index.ts";
import { valueAt } from "../../document/edit/index.ts";
import type { ClientFormat, ClientId } from "../types.ts";
import { isServerMap } from "./containers.ts";

const PATH_PATTERNS: readonly (readonly [RegExp, ClientId])[] = [
  [/(^|\/)(\.mcp|\.claude)\.json$/, "claude-code"],
  [/(^|\/)claude_desktop_config\.json$/i, "claude-desktop"],
  [/(^|\/)\.cursor\/mcp\.json$/, "cursor"],
  [/(^|\/)(\.codeium(\/[^/]+)?|windsurf|\.windsurf)\/mcp_config\.json$/, "windsurf"],
  [/(^|\/)\.vscode\/mcp\.json$/, "vscode"],
  [/\/User\/(profiles\/[^/]+\/)?mcp\.json$/, "vscode"],
  [/(^|\/)\.codex\/config\.toml$/, "codex"],
  [/(^|\/)\.gemini\/settings\.json$/, "gemini"],
  [/(^|\/)opencode\.jsonc?$/, "opencode"],
];

export function clientOfPlace(file: string): ClientId | undefined {
  const path = file.replaceAll("\\", "/");
  return PATH_PATTERNS.find(([pattern]) => pattern.test(path))?.[1];
}

export const CLIENT_FORMATS: Readonly<Record<ClientId, ClientFormat>> = {
  "claude-code": "json",
  "claude-desktop": "json",
  cursor: "json",
  windsurf: "json",
  vscode: "json",
  codex: "toml",
  gemini: "json",
  opencode: "json",
  axle: "yaml",
};

export function formatOfPlace(file: string): ClientFormat | undefined {
  if (/\.jsonc?$/i.test(file)) return "json";
  if (/\.toml$/i.test(file)) return "toml";
  return /\.ya?ml$/i.test(file) ? "yaml" : undefined;
}

/** Detects the client by the shape of the value. */
export function clientOfValue(format: ClientFormat, value: unknown): ClientId | undefined {
  if (!isObject(value)) return undefined;
  if (format === "toml") return isObject(value["mcp_servers"]) ? "codex" : undefined;
  if (format === "yaml") return Array.isArray(valueAt(value, ["services", "mcp"])) ? "axle" : undefined;
  const { mcpServers, servers } = value;
  if (isObject(mcpServers))
    return Object.values(mcpServers).some((entry) => isObject(entry) && "httpUrl" in entry)
      ? "gemini"
      : "claude-code";
  if (isServerMap(servers)) return "vscode";
  if (isServerMap(value["mcp"]) || isServerMap(valueAt(value, ["mcp", "servers"]))) return "opencode";
  return isServerMap(value) ? "claude-code" : undefined;
}

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
