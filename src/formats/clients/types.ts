// Types of the clients' files: client, servers, context, notes about an export.

import type { Diagnostic } from "../../errors/index.ts";
import type { ServerConfig, Endpoint } from "../../model/index.ts";
import type { SyntaxName } from "../document/edit/index.ts";

export type ClientId =
  | "claude-code"
  | "claude-desktop"
  | "cursor"
  | "windsurf"
  | "vscode"
  | "codex"
  | "gemini"
  | "opencode"
  | "axle";

export type ClientFormat = SyntaxName;

export type Scope = "user" | "project";

/** A server as a client's file declares it. */
export interface ClientServer extends ServerConfig {
  readonly endpoint: Endpoint;
  /** Its name in the file; the alias is this name made legal. */
  readonly name: string;
  /** Claude Code: the project folder of a server that is for one project only. */
  readonly project?: string;
  /** A file whose variables the client adds to the server's environment. Kept, not read. */
  readonly envFile?: string;
}

/** A server to be written: from a client's file, or from any other config file. */
export type WritableServer = ServerConfig & Partial<Pick<ClientServer, "name" | "project" | "envFile">>;

export interface ClientFile {
  readonly client: ClientId;
  readonly servers: readonly ClientServer[];
  readonly diagnostics: readonly Diagnostic[];
}

/** The computer a file is read on; everything has a sensible default. */
export interface ClientContext {
  readonly home?: string;
  /** Working folder, and the value of `${workspaceFolder}` in a user's file. */
  readonly cwd?: string;
  readonly platform?: NodeJS.Platform;
  /** Whether to include the servers that Claude Code has for other projects. */
  readonly projects?: "here" | "all";
}

/** A setting that the client does not support, or that was written differently. */
export interface ExportNote {
  /** The alias of the server. */
  readonly server: string;
  readonly message: string;
}

export interface WrittenConfig {
  readonly text: string;
  readonly notes: readonly ExportNote[];
}

export type { Path } from "../document/index.ts";
