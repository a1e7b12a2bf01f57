// Launch context: the state that the servers of one workspace share at their starts. The workspace creates it and passes it
// with every launch request, so that two workspaces in one process do not know each other.

import type { RunResult } from "../process/index.ts";
import {
  type ConfigFiles,
  createConfigFiles,
  createWriteHistory,
  type WriteHistory,
} from "../sandbox/index.ts";

export interface LaunchContext {
  readonly configFiles: ConfigFiles;
  readonly writes: WriteHistory;
  /** Results of version commands, by program and file time. */
  readonly versions: Map<string, RunResult>;
}

export function createLaunchContext(): LaunchContext {
  return { configFiles: createConfigFiles(), writes: createWriteHistory(), versions: new Map() };
}
