// What this room says about a client's file: which client, which servers, what was odd, what could not be written.

import type { Diagnostic } from "../../errors/index.ts";
import type { DeclaredServer, Endpoint } from "../../model/index.ts";

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

export type ClientFormat = "json" | "toml" | "yaml";

export type Scope = "user" | "project";

/** A server as a client's file declares it. */
export interface ClientServer extends DeclaredServer {
  readonly endpoint: Endpoint;
  /** Its name in the file; the alias is this name made legal. */
  readonly name: string;
  /** Claude Code keeps servers for single projects in the user's file: the folder this one is for. */
  readonly project?: string;
  /** A file whose variables the client adds to the server's environment. Kept, not read. */
  readonly envFile?: string;
}

/** A server to be written: of a client's file, or of any other declaration. */
export type WritableServer = DeclaredServer & Partial<Pick<ClientServer, "name" | "project" | "envFile">>;

export interface ClientFile {
  readonly client: ClientId;
  readonly servers: readonly ClientServer[];
  readonly diagnostics: readonly Diagnostic[];
}

/** The computer a file is read on; everything has a sensible default. */
export interface ClientContext {
  readonly home?: string;
  /** The folder the user works in: what `${workspaceFolder}` means in a file of the user. */
  readonly cwd?: string;
  readonly platform?: NodeJS.Platform;
  /** Servers that Claude Code keeps for other projects: left out unless "all" are asked for. */
  readonly projects?: "here" | "all";
}

/** What a client cannot be told, or was told differently. */
export interface ExportNote {
  /** The alias of the server. */
  readonly server: string;
  readonly message: string;
}

export interface WrittenConfig {
  readonly text: string;
  readonly notes: readonly ExportNote[];
}

export type Path = readonly (string | number)[];
