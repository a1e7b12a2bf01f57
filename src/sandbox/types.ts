// The sandbox policy of one server, and the interface of the backends that enforce it.

import type { Report } from "../errors/index.ts";
import type { Denied, ResourceLimits, SandboxBackendName, SandboxMode } from "../model/index.ts";
import type { Program, Spawnable } from "../process/index.ts";

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
