// The context of a running command: the outside world, the output, Ctrl-C and the checked options, all passed as values so that
// a test can provide its own.

import type { Command } from "commander";
import type { Catalog, CatalogOptions, FileChange } from "../catalog/index.ts";
import type { McpConfig, McpConnection } from "../client/index.ts";
import type {
  FoundGateways,
  RemoteWorkspace,
  RemoteWorkspaceOptions,
  RunningGateway,
} from "../control/index.ts";
import type { ImportedFile, ImportOptions } from "../formats/clients/index.ts";
import type { Workspace, WorkspaceConfig, WorkspaceHubOptions } from "../hub/index.ts";
import type { RawOptions, ServerOptions } from "./options/parse.ts";
import type { HelpText } from "./output/help.ts";
import type { Output } from "./output/output.ts";
import type { ExitCodes, Interrupt, SignalSource } from "./terminal/interrupt.ts";
import type { Prompter } from "./terminal/prompter.ts";

export interface OutputStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string, done?: () => void): boolean;
}

export interface InputStream extends AsyncIterable<Uint8Array | string> {
  readonly isTTY?: boolean;
}

/** Everything outside of the program that a command touches. */
export interface CliIo {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly platform: NodeJS.Platform;
  readonly version: string;
  readonly signals: SignalSource;
  readonly connect: (config: McpConfig) => Promise<McpConnection>;
  readonly openWorkspace: (
    source: string | WorkspaceConfig,
    options: WorkspaceHubOptions,
  ) => Promise<Workspace>;
  /** The running gateways of the workspace at this path. */
  readonly findGateways: (path: string) => Promise<FoundGateways>;
  /** The running gateways of all workspaces of the user. */
  readonly findAllGateways: () => Promise<readonly RunningGateway[]>;
  /** Opens the servers of a running gateway. */
  readonly openRunning: (
    gateway: RunningGateway,
    options: RemoteWorkspaceOptions,
  ) => Promise<RemoteWorkspace>;
  readonly loadCatalog: (path: string, options?: CatalogOptions) => Promise<Catalog>;
  readonly importClients: (options: ImportOptions) => Promise<ImportedFile[]>;
  /** Prompts on stdin, or on the terminal of the session if stdin is none. */
  readonly createPrompter: (color: boolean) => Promise<Prompter>;
  /** True if the session has a terminal, whatever stdin is. */
  readonly hasTerminal: () => boolean;
  /** The process serves calls from now on: its memory is managed for a long run. */
  readonly beginServing: () => void;
  /** Opens a page in the browser; false when there is none. */
  readonly openBrowser: (url: string) => Promise<boolean>;
}

/** The context that every command gets. */
export interface Cli {
  readonly io: CliIo;
  readonly output: Output;
  readonly interrupt: Interrupt;
  readonly options: ServerOptions;
  /** The config files that this command has written; running gateways trust exactly these changes. */
  readonly changes: FileChange[];
}

/** The words of a command line: those of the command itself, and those after `--`, which are a server's command. */
export interface Words {
  readonly words: readonly string[];
  readonly server: readonly string[] | undefined;
}

/** The program that a command adds itself to. */
export interface CommandHost {
  readonly program: Command;
  /** Sets the help text of a command. */
  readonly explain: (command: Command, help: HelpText) => Command;
  /** Runs the work of a command and keeps its exit code. */
  readonly run: (raw: RawOptions, work: (cli: Cli) => Promise<number>, options?: RunOptions) => Promise<void>;
  /** The words after `--`. */
  readonly server: Words["server"];
}

export interface RunOptions {
  /** The note that Ctrl-C prints. Empty if Ctrl-C is the usual end of the command. */
  readonly cancelling?: string;
  readonly exitCodes?: ExitCodes;
}
