// The options of a workspace: those that a program passes to `openWorkspace()`, and those that only Portolan's own code sets.

import type { ParsedFiles } from "../../catalog/index.ts";
import type { McpHandlers } from "../../client/index.ts";
import type { Diagnostic } from "../../errors/index.ts";
import type { Implementation, SandboxMode, ServerConfig } from "../../model/index.ts";
import type { PromptPassphrase, SecretLookup } from "../../secrets/index.ts";
import type { HubEvent } from "../events.ts";
import type { HubOptions } from "../open-hub.ts";

/** The options of `openWorkspace()` and `createBridge()`. */
export interface WorkspaceOptions {
  /** Use only the servers with these aliases. Default: all servers. */
  readonly only?: readonly string[] | undefined;
  /** Returns true for each server that is not used, whatever the config files say. */
  readonly leaveOut?: ((server: ServerConfig) => boolean) | undefined;
  /**
   * Gives the value of each `${NAME}` reference, or undefined if there is none. It then replaces the environment, the keyring, the
   * vault and the .env file; `${env:NAME}` still reads the environment.
   */
  readonly secrets?: SecretLookup | undefined;
  /**
   * A .env file that values of `${NAME}` references may come from, in place of the one that the config names; `true` is the `.env`
   * beside the manifest or in the folder, if there is one. Without it, Portolan reads no .env file that the config does not name.
   */
  readonly envFile?: string | true | undefined;
  /** Answers to server requests: elicitation, sampling and roots. A handler also declares the client capability to the servers. */
  readonly handlers?: McpHandlers | undefined;
  /** Name and version that the servers see. Default: those of Portolan. */
  readonly clientInfo?: Implementation | undefined;
  /** Sandbox modes by alias, which override the config files. Default: the mode in the config, or `enforce`. */
  readonly sandbox?: Readonly<Record<string, SandboxMode>> | undefined;
  /** Run the code beside drivers, in this program and with its rights. Default: false. */
  readonly driverCode?: boolean | undefined;
  /**
   * The longest wait for servers whose tools are not known from an earlier run. Default: 30 s. The lists warn while the tools of a
   * slower one are missing; `settled()` waits for it.
   */
  readonly waitMs?: number | undefined;
  /** The servers for which opening waits. Default: `most` for a gateway, whose clients are notified of later tools; otherwise `all`. */
  readonly waitFor?: "most" | "all" | undefined;
  /** Stops waiting for servers. */
  readonly signal?: AbortSignal | undefined;
  /** Apply changes of the config files as they are saved. Default: true. */
  readonly watchFiles?: boolean | undefined;
  /** The folder that stores tool lists between runs; `false` stores none. Default: the user's cache folder. */
  readonly snapshots?: string | false | undefined;
  /** Receives diagnostics, also about servers that cannot be used. Default: `process.emitWarning`. */
  readonly onDiagnostic?: ((diagnostic: Diagnostic) => void) | undefined;
  /** Receives every event, also those during opening. */
  readonly onEvent?: ((event: HubEvent) => void) | undefined;
  /** True when `onEvent` also receives call events. Default: true. */
  readonly callEvents?: boolean | undefined;
}

/** Options that the gateway and the command set, and programs do not. */
export interface WorkspaceHubOptions
  extends
    WorkspaceOptions,
    Pick<
      HubOptions,
      "capabilities" | "servesCallers" | "logins" | "launchContext" | "attended" | "hashesTools" | "person"
    > {
  /** True when the failure of a server is also a diagnostic, once for each reason. Default: true for `openWorkspace()`. */
  readonly reportsFailures?: boolean;
  /** Config files that the command has parsed just before. */
  readonly parsedFiles?: ParsedFiles;
  /** Prompts for the passphrase of the vault. */
  readonly promptPassphrase?: PromptPassphrase;
}
