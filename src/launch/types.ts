// The words that the parts of this room share: a program, its box, and what is spawned in the end.

import type { ChildProcess } from "node:child_process";
import type { Report } from "../errors/index.ts";
import type { Denied, ResourceLimits, SandboxBackendName, SandboxMode } from "../model/index.ts";
import type { NamedPath } from "./sandbox/hidden-paths.ts";
import type { PathCheck } from "./sandbox/path-check.ts";

export type { Denied };

/** A server's program, found and installed, as it is to run: inside of a box or not. */
export interface Program {
  /** An absolute path. */
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  /** All of its environment, values included. */
  readonly env: Readonly<Record<string, string>>;
}

/** Why a path is in the box. */
export type MountReason =
  | "system"
  | "own"
  | "cwd"
  | "declared"
  | "root"
  | "kept home"
  /** Named by one of the variables for certificates. */
  | "certificates"
  | "socket"
  /** A declaration: what it says decides about boxes. */
  | "declaration"
  /** Data of this program. */
  | "portolan";

export interface Mount {
  /** The same inside and outside. */
  readonly path: string;
  readonly access: "read" | "write" | "hidden";
  readonly reason: MountReason;
}

/** A thing that was asked for, in the words of the declaration, such as `network: api.example.com` or `fs.deny: /data/secret`. */
export interface Clause {
  readonly clause: string;
  /** Why this machine or this backend cannot hold it. */
  readonly problem: string;
  /** What would help: a command, or a change of the declaration. */
  readonly remedy: string;
}

/** Everything that one server gets, worked out from the default profile, its declaration and the caller's roots. */
export interface Box {
  /** What is not here is not there. Later ones lie over earlier ones. */
  readonly mounts: readonly Mount[];
  /** HOME inside of the box; forgotten afterwards unless it lies on a mount. */
  readonly home: string;
  /** The working folder inside of the box. Absent: HOME. */
  readonly cwd?: string | undefined;
  /** Places in HOME and /tmp that stand for the user's own files, which are not granted: empty and read-only, so that writing fails. */
  readonly closed?: readonly string[] | undefined;
  /** Empty: no network at all. */
  readonly network: readonly string[];
  readonly exec: { readonly allow: readonly string[] | undefined; readonly spawn: boolean };
  readonly limits: ResourceLimits;
  /** Those limits that a declaration asks for; the others are defaults, held where it can be done. */
  readonly declaredLimits: ReadonlySet<keyof ResourceLimits>;
}

/** What happens between the wish to start a server and its end, beside what it says itself. */
export type LaunchNews =
  /** `checkPath` says what is wrong with paths and file URIs, `hiddenAmong` which paths the sandbox hides; absent where there is none. */
  | {
      readonly type: "planned";
      readonly plan: LaunchPlan;
      readonly checkPath?: PathCheck | undefined;
      readonly hiddenAmong?: ((words: readonly string[]) => readonly NamedPath[]) | undefined;
    }
  | ({ readonly type: "denied" } & Denied)
  /** Something that takes a while, such as a download. */
  | ({ readonly type: "progress"; readonly server: string } & Progress);

/** How far something is that takes a while. */
export interface Progress {
  readonly what: string;
  /** How much of it is there, as it comes; absent when it begins and when it is done. */
  readonly bytes?: { readonly received: number; readonly total?: number | undefined } | undefined;
}

/** The process that came of it. */
export type Spawned = Pick<ChildProcess, "pid" | "exitCode" | "signalCode">;

/** What is handed to the operating system. Descriptors of `fds` become 3, 4, … of the child. */
export interface Spawnable {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly fds: readonly number[];
  /** Asks the program to end, where a signal to what was spawned would not reach it. False when there is nobody to ask. */
  ask?: ((spawned: Spawned) => boolean) | undefined;
  /** Gives back what was opened for it. `isStarted` is false where nothing was spawned after all. Default: true. */
  spawned(isStarted?: boolean): void;
  /** Gives back what it needed while it ran. */
  ended(): void;
}

export interface WrapContext {
  readonly server: string;
  readonly report: Report;
  readonly onDenied: (denied: Denied) => void;
}

export interface HeldBox {
  /** Without what is not there with this backend, and with the limits that it really sets. */
  readonly box: Box;
  /** Defaults that it cannot hold here. Nobody asked for them, so they stop nothing. */
  readonly unheldDefaults: readonly Clause[];
}

/** One way to hold a box. */
export interface SandboxBackend {
  readonly name: SandboxBackendName;
  /** What it can really hold here, found by trying; asked once per process. */
  probe(): Promise<BackendReport>;
  /** The clauses of this box that it cannot hold here; empty when all of it is held. */
  missing(box: Box): Promise<readonly Clause[]>;
  /** The box as it will really be. Absent: as it was worked out. */
  held?(box: Box): Promise<HeldBox>;
  wrap(program: Program, box: Box, context: WrapContext): Promise<Spawnable>;
}

/** One thing that a machine can or cannot do, for `portolan doctor`. */
export interface Finding {
  readonly what: string;
  readonly ok: boolean;
  readonly detail?: string | undefined;
  /** The exact command that mends it. */
  readonly remedy?: string | undefined;
}

export interface BackendReport {
  readonly available: boolean;
  readonly version?: string | undefined;
  readonly findings: readonly Finding[];
}

/** How a server was started, or would be: printable, without any value of its environment. */
export interface LaunchPlan {
  readonly server: string;
  readonly kind: "binary" | "npm" | "docker";
  /** Where the program comes from: a path of this machine, a package with version and hash, an image. */
  readonly source: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly env: readonly string[];
  readonly sandbox: {
    readonly mode: SandboxMode;
    /** Who said so. */
    readonly by: "default" | "declaration" | "command line" | "PORTOLAN_SANDBOX";
    readonly backend: SandboxBackendName;
    /** As it is really held; nothing of it is with the backend `none`. */
    readonly box: Box;
    /** What is not held; only in the modes `warn` and `off`. */
    readonly missing: readonly Clause[];
    readonly unheldDefaults: HeldBox["unheldDefaults"];
  };
  /** Paths that its arguments and variables name and its sandbox hides: most likely forgotten. */
  readonly notGranted: readonly NamedPath[];
  /** What is handed to the operating system. */
  readonly spawn: readonly string[];
}
