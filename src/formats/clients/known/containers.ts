// Where in a client's file the servers stand: under the client's own key, or under one that people take for it.

import { isObject } from "../../../model/index.ts";
import { type ReadContext, samePath } from "./context.ts";
import { fieldOf } from "../entries/fields.ts";
import type { ClientId, Path } from "../types.ts";
import { valueAt } from "../../document/edit/index.ts";

export interface Container {
  readonly path: Path;
  /** The client itself reads this place. */
  readonly own: boolean;
  /** Claude Code: the folder of the project it is for. */
  readonly project?: string;
}

export const OWN_PATHS: Readonly<Record<ClientId, Path>> = {
  "claude-code": ["mcpServers"],
  "claude-desktop": ["mcpServers"],
  cursor: ["mcpServers"],
  windsurf: ["mcpServers"],
  vscode: ["servers"],
  codex: ["mcp_servers"],
  gemini: ["mcpServers"],
  opencode: ["mcp"],
  axle: ["services", "mcp"],
};

/** Keys of other clients, or of earlier versions, that are found in files of this one. */
const OTHER_PATHS: Readonly<Record<ClientId, readonly Path[]>> = {
  "claude-code": [["servers"]],
  "claude-desktop": [["servers"]],
  cursor: [["servers"]],
  windsurf: [["servers"]],
  vscode: [["mcpServers"], ["mcp", "servers"]],
  codex: [["mcpServers"]],
  gemini: [["servers"]],
  opencode: [["mcpServers"]],
  axle: [],
};

/** All places with servers that count here and now, the client's own first. */
export function findContainers(client: ClientId, value: unknown, context: ReadContext): Container[] {
  const own = ownPath(client, value);
  const found: Container[] = valueAt(value, own) === undefined ? [] : [{ path: own, own: true }];
  if (client === "claude-code") found.push(...projectContainers(value, context));
  for (const path of OTHER_PATHS[client])
    if (isServerMap(valueAt(value, path))) found.push({ path, own: false });
  if (found.length === 0 && client !== "axle" && isServerMap(value)) found.push({ path: [], own: false });
  return found;
}

/** OpenCode 2 puts servers one level deeper, beside settings that hold for all of them. */
export function ownPath(client: ClientId, value: unknown): Path {
  const deeper: Path = ["mcp", "servers"];
  return client === "opencode" && isObject(valueAt(value, deeper)) && !isEntry(valueAt(value, deeper))
    ? deeper
    : OWN_PATHS[client];
}

function projectContainers(value: unknown, context: ReadContext): Container[] {
  const projects = valueAt(value, ["projects"]);
  if (!isObject(projects)) return [];
  return Object.keys(projects).flatMap((project): Container[] => {
    const path: Path = ["projects", project, "mcpServers"];
    const here = context.projects === "all" || samePath(project, context.workspace, context.path);
    return here && valueAt(value, path) !== undefined ? [{ path, own: true, project }] : [];
  });
}

/** An object of entries, at least one of which names a command or a url; or a list of such. */
export function isServerMap(value: unknown): boolean {
  if (!isObject(value) && !Array.isArray(value)) return false;
  const entries: unknown[] = Object.values(value);
  return entries.every(isObject) && entries.some(isEntry);
}

function isEntry(value: unknown): boolean {
  return (
    isObject(value) &&
    Object.entries(value).some(
      ([key, item]) =>
        (fieldOf(key) === "command" && (typeof item === "string" || Array.isArray(item))) ||
        (fieldOf(key) === "url" && typeof item === "string"),
    )
  );
}

/** Servers that a setting elsewhere in the file switches off. */
export function switchedOff(
  client: ClientId,
  value: unknown,
  context: ReadContext,
): (name: string) => boolean {
  if (client === "gemini") {
    const allowed = valueAt(value, ["mcp", "allowed"]);
    const excluded = valueAt(value, ["mcp", "excluded"]);
    return (name) =>
      (Array.isArray(allowed) && !allowed.includes(name)) ||
      (Array.isArray(excluded) && excluded.includes(name));
  }
  if (client === "claude-code") {
    const projects = valueAt(value, ["projects"]);
    const here = isObject(projects)
      ? Object.keys(projects).find((project) => samePath(project, context.workspace, context.path))
      : undefined;
    const disabled =
      here === undefined ? undefined : valueAt(value, ["projects", here, "disabledMcpServers"]);
    return (name) => Array.isArray(disabled) && disabled.includes(name);
  }
  return () => false;
}
