// Interface between a script and the servers that it imports.

import type { RequestOptions } from "../../client/index.ts";
import type { CallToolResult, JsonObject, ReadResourceResult, ToolDefinition } from "../../model/index.ts";
import type { Secret } from "../../secrets/index.ts";

/** A secret in a setting. A stored one can be found again by its name; one that was typed cannot. */
export interface SettingSecret {
  readonly name: string;
  readonly secret: Secret;
  readonly isStored: boolean;
}

/** The value of one environment variable: text and secrets in order. */
export type SettingParts = readonly (string | SettingSecret)[];

export interface OpenServerOptions {
  /** The name of the server in the script, for messages. */
  readonly name: string;
  /** Environment variables of the server, in addition to those of its config. */
  readonly env: Readonly<Record<string, SettingParts>>;
  readonly signal: AbortSignal;
}

/** A server that an import names, before it is started. */
export interface FoundServer {
  /** The alias in the workspace, or the command. */
  readonly label: string;
  /** The place of its config; undefined for a command. */
  readonly origin?: { readonly file: string; readonly line: number };
  /** The environment variables of settings, where the metadata of its package names others than the usual ones. */
  readonly variables?: Readonly<Record<string, string>>;
  /** True if the server can receive settings: a program that runs here. */
  readonly takesSettings: boolean;
}

/** One running server. */
export interface ScriptServer extends AsyncDisposable {
  /** The tools by the server's own names. */
  listTools(options: RequestOptions): Promise<readonly ToolDefinition[]>;
  callTool(name: string, input: JsonObject, options: RequestOptions): Promise<CallToolResult>;
  readResource(uri: string, options: RequestOptions): Promise<ReadResourceResult>;
  close(): Promise<void>;
}

/** Finds and starts the servers of a script. */
export interface ScriptServers {
  /** Finds the server of a package such as `@alice/github-mcp`, without starting it. Throws SERVER_UNKNOWN if there is none. */
  find(packageName: string): FoundServer;
  /** Starts the server of a package. */
  open(packageName: string, options: OpenServerOptions): Promise<ScriptServer>;
  /** Checks the command or URL of `import tools from mcp "…"`, without starting it. */
  findTarget(target: string): FoundServer;
  /** Starts that command, or connects to that URL. */
  openTarget(target: string, options: OpenServerOptions): Promise<ScriptServer>;
}
