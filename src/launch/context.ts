// Launch context: the state that the servers of one workspace share at their starts. The workspace creates it and passes it
// with every launch request, so that two workspaces in one process do not know each other.

import type { DeclaredServer } from "../model/index.ts";
import type { RunResult } from "../process/index.ts";
import {
  type ConfigFiles,
  createConfigFiles,
  createWriteHistory,
  type WriteHistory,
} from "../sandbox/index.ts";

export interface LaunchContext {
  readonly configFiles: ConfigFiles;
  /** The servers of the workspace as they are configured now: one of them may write what another is granted. */
  servers: readonly DeclaredServer[];
  readonly writes: WriteHistory;
  /** Results of version commands, by program and file time. */
  readonly versions: Map<string, RunResult>;
}

export function createLaunchContext(): LaunchContext {
  return {
    configFiles: createConfigFiles(),
    servers: [],
    writes: createWriteHistory(),
    versions: new Map(),
  };
}
