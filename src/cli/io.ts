// Everything outside that a command touches, in one value, so that a test can hand in its own.

import type { Catalog, CatalogOptions } from "../catalog/index.ts";
import type { ImportedFile, ImportOptions } from "../formats/clients/index.ts";
import type { Workspace, WorkspaceConfig, WorkspaceOptions } from "../hub/index.ts";
import type { McpConfig, McpConnection } from "../client/index.ts";
import type { Prompter } from "./elicit.ts";
import type { SignalSource } from "./interrupt.ts";

export interface OutputStream {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string, done?: () => void): boolean;
}

export interface InputStream extends AsyncIterable<Uint8Array | string> {
  readonly isTTY?: boolean | undefined;
}

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
  readonly openWorkspace: (source: string | WorkspaceConfig, options: WorkspaceOptions) => Promise<Workspace>;
  readonly loadCatalog: (path: string, options?: CatalogOptions) => Promise<Catalog>;
  readonly importClients: (options: ImportOptions) => Promise<ImportedFile[]>;
  readonly createPrompter: (color: boolean) => Promise<Prompter>;
  /** Starts the user's browser; false when there is none. */
  readonly openBrowser: (url: string) => Promise<boolean>;
}
