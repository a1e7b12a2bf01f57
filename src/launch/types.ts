// The launch plan of one server, the news of its start, and the context that the starts of a workspace share.

import type { Progress } from "../install/index.ts";
import type {
  ServerConfig,
  Denied,
  PackagePolicy,
  SandboxBackendName,
  SandboxConfig,
  SandboxMode,
} from "../model/index.ts";
import {
  createConfigFiles,
  createWriteHistory,
  type SandboxPolicy,
  type ChosenMode,
  type RuleProblem,
  type EnforcedPolicy,
  type NamedPath,
  type PathCheck,
  type ConfigFiles,
  type WriteHistory,
} from "../sandbox/index.ts";
import type { RunResult } from "../process/index.ts";
import type { IndexRenewal } from "./index-renewal.ts";

/** Reports between the request to start a server and its end, apart from the server's own output. */
export type LaunchNews =
  /**
   * `checkPath` validates paths and file URIs, `hiddenAmong` finds those that the sandbox hides, `readOnlyAmong`
   * those that it shows and protects from writing; all absent without a sandbox.
   */
  | {
      readonly type: "planned";
      readonly plan: LaunchPlan;
      readonly checkPath?: PathCheck;
      readonly hiddenAmong?: (words: readonly string[]) => readonly NamedPath[];
      readonly readOnlyAmong?: (words: readonly string[]) => readonly NamedPath[];
      /** The paths that the config of the server grants and denies. */
      readonly fs?: SandboxConfig["fs"];
    }
  /** The process group of this id runs the server. */
  | { readonly type: "started"; readonly pid: number }
  | ({ readonly type: "denied" } & Denied)
  /** A step that takes a while, such as a download. */
  | ({ readonly type: "progress"; readonly server: string } & Progress);

/**
 * How a server was started, or would be started. It can be printed: it contains no values of environment
 * variables.
 */
export interface LaunchPlan {
  readonly server: string;
  readonly kind: "binary" | "npm" | "docker";
  /** Human-readable: a path of this machine, a package with version and hash, or an image. */
  readonly source: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly env: readonly string[];
  readonly sandbox: {
    readonly mode: SandboxMode;
    readonly by: ChosenMode["by"];
    readonly backend: SandboxBackendName;
    /** The policy as the backend enforces it. The backend `none` enforces nothing. */
    readonly policy: SandboxPolicy;
    /** Rules that are not enforced; only in the modes `warn` and `off`. */
    readonly missing: readonly RuleProblem[];
    readonly unenforcedDefaults: EnforcedPolicy["unenforcedDefaults"];
  };
  /** Paths that the arguments and variables name and the sandbox hides; the user most likely forgot to grant them. */
  readonly notGranted: readonly NamedPath[];
  /** The command that is handed to the operating system. */
  readonly spawn: readonly string[];
}

/**
 * The state that the servers of one workspace share at their starts. The workspace creates it and passes it with
 * every launch request, so that two workspaces in one process do not know each other.
 */
export interface LaunchContext {
  readonly configFiles: ConfigFiles;
  /** The servers of the workspace as they are configured now: one of them may write what another is granted. */
  servers: readonly ServerConfig[];
  readonly writes: WriteHistory;
  /** The policy of the workspace for packages. */
  packagePolicy?: PackagePolicy;
  /** The token of a registry of the workspace, by its URL. It is sent to that registry only. */
  registryToken?: (registry: string) => Promise<string | undefined>;
  /** Renews old indexes of registries in the background. Without it, starts use the stored ones. */
  readonly indexRenewal?: IndexRenewal;
  /** The folder in which hints with commands are read; the default is the working folder. `ANYWHERE` for a gateway. */
  readonly hintFolder?: string;
  /** Results of version commands, by program and file time. */
  readonly versions: Map<string, RunResult>;
  /** Images without a digest that were reported. */
  readonly warnedImages: Set<string>;
  /** Advisories that were reported, with the server and the version. */
  readonly warnedAdvisories: Set<string>;
}

export function createLaunchContext(): LaunchContext {
  return {
    ...{ configFiles: createConfigFiles(), servers: [], writes: createWriteHistory() },
    ...{ versions: new Map(), warnedImages: new Set(), warnedAdvisories: new Set() },
  };
}
