// Whether a file is an mcpfile: by its name, by what is in it, or by what its broken text looks like.

import { basename } from "node:path";
import { isObject } from "../../model/index.ts";
import { KINDS } from "./schema/versions.ts";

/** `mcpfile.yaml`, and `payments.mcpfile.yaml`. */
export function isMcpfileName(file: string): boolean {
  return /^(?:.+\.)?mcpfile\.ya?ml$/i.test(basename(file));
}

/** True for a value that can only be meant as an mcpfile, or as the settings of its server. */
export function isMcpfile(value: unknown): boolean {
  if (!isObject(value)) return false;
  return Object.hasOwn(value, "mcpFileVersion") || value.kind === KINDS.tools || value.kind === KINDS.config;
}

/** For texts whose syntax is broken. */
export function looksLikeMcpfile(text: string): boolean {
  return /^"?(?:mcpFileVersion"?[ \t]*:|kind"?[ \t]*:[ \t]*"?MCP(?:ToolDefinitions|ServerConfig))/m.test(
    text,
  );
}
