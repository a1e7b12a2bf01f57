// The shape of a `sandbox` block: what a program may touch, in the words that every declaration uses for it.

import type { SandboxBackendName, SandboxMode } from "../../model/index.ts";
import type { ObjectShape, Shape } from "../text/index.ts";

const MODES: readonly string[] = ["enforce", "warn", "off"];

const MODE: Shape = {
  type: "string",
  enum: MODES,
  description:
    "enforce: everything holds, or the server does not start; warn: it starts, and what does not hold is said; off: no sandbox.",
};

const TEXTS: Shape = { type: "list", items: { type: "string" } };
const PATHS = "relative to this file, absolute, or with ~/";

const NETWORK: Shape = {
  type: "union",
  description:
    "Hosts that may be reached, none when absent: host, *.host, host:port, an address, or * for every public host.",
  options: [TEXTS, { type: "object", fields: { egress: { ...TEXTS, description: "The hosts." } } }],
};

const count = (minimum: number, description: string): Shape => ({
  type: "number",
  integer: true,
  minimum,
  description,
});

const LIMITS: ObjectShape = {
  type: "object",
  description: "How much of the machine it may use.",
  fields: {
    memory: {
      type: "size",
      description: "Private memory of each process, such as 512MB; shared memory is not counted.",
    },
    processes: count(1, "How many processes and threads there may be."),
    open_files: { ...count(1, "How many files each process may have open."), aliases: ["openFiles"] },
    cpu: { type: "duration", description: "Processor time of each single process, such as 60s." },
    file_size: {
      type: "size",
      aliases: ["fileSize"],
      description: "The largest file that it may write, such as 100MB.",
    },
    niceness: {
      type: "number",
      integer: true,
      minimum: 0,
      maximum: 19,
      description: "How far it stands back behind other programs, 0 to 19.",
    },
  },
};

/** The block itself, for places where the short form has no meaning of its own. */
export const SANDBOX_OBJECT: ObjectShape = {
  type: "object",
  fields: {
    mode: { type: "union", options: [MODE, { type: "boolean" }], description: MODE.description ?? "" },
    backend: {
      type: "string",
      enum: ["bubblewrap", "docker", "srt"],
      synonyms: { bwrap: "bubblewrap" },
      description: "Only this one; otherwise whichever the machine has.",
    },
    network: NETWORK,
    fs: {
      type: "object",
      description: "Files and folders beside its own.",
      fields: {
        read: { ...TEXTS, description: `May be read; ${PATHS}.` },
        write: { ...TEXTS, description: `May be read and written; ${PATHS}.` },
        deny: { ...TEXTS, description: `Hidden, also inside of what is granted; ${PATHS}.` },
      },
    },
    env: {
      type: "object",
      description: "Its environment, beside what the server's own env says.",
      fields: {
        pass: { ...TEXTS, description: "Variables that are passed on from here, by name." },
        set: {
          type: "map",
          values: { type: "string", scalars: true, empty: true },
          description: "Variables with fixed values; what is secret belongs into env.",
        },
      },
    },
    exec: {
      type: "object",
      description: "Which programs it may run.",
      fields: {
        allow: { ...TEXTS, description: "The only programs on the PATH beside itself, by name or path." },
        spawn: { type: "boolean", description: "false: it may start no other process." },
      },
    },
    home: {
      type: "string",
      enum: ["private", "kept"],
      description: "private: its HOME is forgotten when it stops; kept: it is there again at the next start.",
    },
    limits: LIMITS,
    path_arguments: {
      type: "map",
      values: TEXTS,
      aliases: ["pathArguments"],
      description:
        "Arguments that are paths or file URIs, by tool (* stands for anything): checked before a call is forwarded.",
    },
  },
};

/** `sandbox: off` or the block; `false` and `true` are what some writers of YAML make of off and on. */
export const SANDBOX_SHAPE: Shape = {
  type: "union",
  description: "What the program may touch: a mode, or a block with more. The default profile when absent.",
  options: [MODE, { type: "boolean" }, SANDBOX_OBJECT],
};

export type CheckedSandbox = SandboxMode | boolean | CheckedSandboxBlock;

export interface CheckedSandboxBlock {
  readonly mode?: SandboxMode | boolean;
  readonly backend?: SandboxBackendName;
  readonly network?: readonly string[] | { readonly egress?: readonly string[] };
  readonly fs?: {
    readonly read?: readonly string[];
    readonly write?: readonly string[];
    readonly deny?: readonly string[];
  };
  readonly env?: {
    readonly pass?: readonly string[];
    readonly set?: Readonly<Record<string, string>>;
  };
  readonly exec?: { readonly allow?: readonly string[]; readonly spawn?: boolean };
  readonly home?: "private" | "kept";
  readonly limits?: {
    readonly memory?: number;
    readonly processes?: number;
    readonly open_files?: number;
    readonly cpu?: number;
    readonly file_size?: number;
    readonly niceness?: number;
  };
  readonly path_arguments?: Readonly<Record<string, readonly string[]>>;
}
