// The sandbox policy of one server, and the interface of the backends that enforce it.

import type { Report } from "../errors/index.ts";
import type { Denied, ResourceLimits, SandboxBackendName } from "../model/index.ts";
import type { Program, Spawnable } from "../process/index.ts";

/** Why a path is in the sandbox. */
export type MountReason =
  | "system"
  | "own"
  /** Packages of its npm, pnpm or Yarn workspace that its program uses. */
  | "workspace"
  | "cwd"
  | "declared"
  | "root"
  | "kept home"
  /** A certificate variable names it. */
  | "certificates"
  | "socket"
  /** A `.env` file beside the server's script. */
  | "env file"
  /** The config of the workspace names it as a secret. */
  | "secret file"
  /** A config file, which decides about sandboxes. */
  | "config file"
  /** Portolan's own data. */
  | "portolan";

export interface Mount {
  /** The path, the same inside and outside of the sandbox. */
  readonly path: string;
  readonly access: "read" | "write" | "hidden";
  readonly reason: MountReason;
}

/**
 * A rule of the sandbox config that cannot be enforced. `rule` is written as in the config, such as `network:
 * api.example.com`.
 */
export interface RuleProblem {
  readonly rule: string;
  /** Why this machine or this backend cannot enforce it. */
  readonly problem: string;
  /** The next step: a command, or a change of the config. */
  readonly remedy: string;
}

/** Everything that one server may use, from the default profile, its sandbox config and the caller's roots. */
export interface SandboxPolicy {
  /** All visible paths; a later mount covers an earlier one. */
  readonly mounts: readonly Mount[];
  /** HOME inside of the sandbox. Its content is lost when the server ends, unless a mount contains it. */
  readonly home: string;
  /**
   * The user's own home folder, where HOME is another one. `~/` in arguments stands for this folder, and HOME has
   * links to the granted paths in it.
   */
  readonly userHome?: string;
  /** The working folder inside of the sandbox. Absent: HOME. */
  readonly cwd?: string;
  /**
   * Paths in HOME and /tmp that stand for the user's own files and are not granted: empty and read-only, so that
   * writing fails instead of losing data.
   */
  readonly closed?: readonly string[];
  /** Empty: no network. */
  readonly network: readonly string[];
  readonly exec: { readonly allow: readonly string[] | undefined; readonly spawn: boolean };
  readonly limits: ResourceLimits;
  /** Limits of the sandbox config. The others are defaults, which are enforced where the machine can. */
  readonly configuredLimits: ReadonlySet<keyof ResourceLimits>;
}

export interface WrapContext {
  readonly server: string;
  readonly report: Report;
  readonly onDenied: (denied: Denied) => void;
  /** Images without a digest that the workspace was warned about. */
  readonly warnedImages: Set<string>;
}

export interface EnforcedPolicy {
  /** The policy without paths that this backend does not show, and with the limits that it really sets. */
  readonly policy: SandboxPolicy;
  /** Default limits that it cannot enforce here. They do not stop the start. */
  readonly unenforcedDefaults: readonly RuleProblem[];
}

/** One implementation of sandboxes. */
export interface SandboxBackend {
  readonly name: SandboxBackendName;
  /** The capabilities of the backend on this machine, found by trying once per process. */
  probe(): Promise<BackendReport>;
  /** The rules of this policy that it cannot enforce here. */
  missing(policy: SandboxPolicy): Promise<readonly RuleProblem[]>;
  /** The policy as it will be enforced. Absent: unchanged. */
  enforced?(policy: SandboxPolicy): Promise<EnforcedPolicy>;
  wrap(program: Program, policy: SandboxPolicy, context: WrapContext): Promise<Spawnable>;
}

/** One capability of this machine, for `portolan doctor`. */
export interface Finding {
  readonly what: string;
  readonly ok: boolean;
  readonly detail?: string;
  /** The command that fixes it. */
  readonly remedy?: string;
}

/** The duties of a sandbox, as `portolan doctor` compares them between backends. */
export const GUARANTEES = [
  "files: only what is granted",
  "network: none by default",
  "network: only granted hosts",
  "own processes: sees and signals no others",
  "ends with Portolan",
  "system call filter",
  "exec.allow: only these programs",
  "exec.spawn: false",
  "exec.spawn: false, with granted hosts",
  "limits on memory, files and time",
  "limit on processes",
] as const;
export type Guarantee = (typeof GUARANTEES)[number];

export interface BackendReport {
  readonly available: boolean;
  readonly version?: string;
  /** The duties that it enforces on this machine, or would if it worked. Absent: it depends on the server. */
  readonly enforces?: readonly Guarantee[];
  readonly findings: readonly Finding[];
}
