// Seccomp filter of a sandbox, assembled as the bytes of a BPF program. It needs no compiler and no native module.

import {
  ABSENT,
  ARCHITECTURES,
  CLONE,
  CLONE3,
  FORBIDDEN,
  FORKS,
  IOCTL,
  PERSONALITY,
  SOCKET,
  SOCKETPAIR,
} from "./syscalls.ts";

const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_GREATER_OR_EQUAL = 0x35;
const JUMP_ANY_BIT = 0x45;
const AND = 0x54;
const RETURN = 0x06;

const OFFSET_NUMBER = 0;
const OFFSET_ARCH = 4;
/** The lower half of an argument; both processors are little-endian. */
const OFFSET_ARGUMENT = [16, 24, 32] as const;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const FAIL = 0x00050000;
const EPERM = 1;
const ENOSYS = 38;
const EPROTONOSUPPORT = 93;
const ESOCKTNOSUPPORT = 94;
const EAFNOSUPPORT = 97;

/** CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID and NET. */
const NEW_NAMESPACES = 0x7e020000;
const CLONE_THREAD = 0x00010000;
/** Injecting input into another terminal, and its equivalent on a console. */
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
/** Allowed socket families. Others bypass the network namespace (vsock) or reach rarely used parts of the kernel. */
const [UNIX, INET, INET6, NETLINK] = [1, 2, 10, 16];
/** SOCK_STREAM and SOCK_DGRAM, without the flags beside them. */
const [SOCKET_TYPE_BITS, INET_TYPES] = [0xf, [1, 2]];
/** The default, TCP and UDP. Others, such as MPTCP or SCTP, make the kernel load modules. */
const INET_PROTOCOLS = [0, 6, 17];
/** NETLINK_ROUTE, which C libraries use to list network interfaces. Audit, firewall and device events are refused. */
const NETLINK_PROTOCOLS = [0];
/** The default personality, and the query for it. Others disable address randomisation or make data executable. */
const PERSONALITIES = [0, 0xffffffff];

/** System calls that bubblewrap needs to create the inner sandbox. */
const FOR_NESTING = new Set(["mount", "umount2", "pivot_root", "unshare", "chroot"]);

interface Instruction {
  readonly code: number;
  readonly value: number;
  /** The label to jump to; undefined for the next line. */
  readonly then?: string;
  readonly otherwise?: string;
  readonly label?: string;
}

export interface SeccompOptions {
  /** Whether new processes may be started; threads always may. */
  readonly spawn: boolean;
  /** Whether a sandbox may be created inside; for the relay that starts one, never for a server. */
  readonly nests?: boolean;
  /** As `process.arch` names it. */
  readonly arch?: string;
}

export function knowsArchitecture(arch: string = process.arch): boolean {
  return ARCHITECTURES[arch] !== undefined;
}

/** Each start of a server needs one of these few. */
const assembled = new Map<string, Uint8Array | undefined>();

/** Undefined for a processor without a table of system calls. */
export function seccompProgram(options: SeccompOptions): Uint8Array | undefined {
  const { spawn, nests = false, arch = process.arch } = options;
  const key = `${arch} ${spawn} ${nests}`;
  if (!assembled.has(key)) assembled.set(key, assembleProgram({ spawn, nests, arch }));
  return assembled.get(key);
}

function assembleProgram({ spawn, nests, arch }: Required<SeccompOptions>): Uint8Array | undefined {
  const architecture = ARCHITECTURES[arch];
  if (architecture === undefined) return undefined;
  const { column, audit, foreignFrom } = architecture;
  const refused = Object.entries(FORBIDDEN)
    .flatMap(([name, numbers]) => (nests && FOR_NESTING.has(name) ? [] : [numbers]))
    .concat(spawn ? [] : FORKS);
  const lines: Instruction[] = [
    { code: LOAD, value: OFFSET_ARCH },
    { code: JUMP_EQUAL, value: audit, otherwise: "foreign" },
    { code: LOAD, value: OFFSET_NUMBER },
    ...(foreignFrom === undefined
      ? []
      : [{ code: JUMP_GREATER_OR_EQUAL, value: foreignFrom, then: "refused" }]),
    { code: JUMP_EQUAL, value: CLONE[column] as number, then: "clone" },
    { code: JUMP_EQUAL, value: SOCKET[column] as number, then: "socket" },
    { code: JUMP_EQUAL, value: SOCKETPAIR[column] as number, then: "socketpair" },
    { code: JUMP_EQUAL, value: PERSONALITY[column] as number, then: "personality" },
    { code: JUMP_EQUAL, value: IOCTL[column] as number, then: "ioctl" },
    // The flags of clone3 are in memory, which a filter cannot read. Every C library falls back to clone if clone3
    // does not exist.
    ...[CLONE3, ...ABSENT].map((numbers) => ({
      code: JUMP_EQUAL,
      value: numbers[column] as number,
      then: "unknown",
    })),
    ...refused.flatMap((numbers) => {
      const value = numbers[column];
      return value === undefined ? [] : [{ code: JUMP_EQUAL, value, then: "refused" }];
    }),
    { code: RETURN, value: ALLOW },
    { code: LOAD, value: OFFSET_ARGUMENT[0], label: "clone" },
    ...(nests ? [] : [{ code: JUMP_ANY_BIT, value: NEW_NAMESPACES, then: "refused" }]),
    ...(spawn ? [] : [{ code: JUMP_ANY_BIT, value: CLONE_THREAD, otherwise: "refused" }]),
    { code: RETURN, value: ALLOW },
    { code: LOAD, value: OFFSET_ARGUMENT[0], label: "socket" },
    { code: JUMP_EQUAL, value: UNIX, then: "allowed" },
    { code: JUMP_EQUAL, value: INET, then: "inet" },
    { code: JUMP_EQUAL, value: INET6, then: "inet" },
    { code: JUMP_EQUAL, value: NETLINK, then: "netlink" },
    { code: RETURN, value: FAIL | EAFNOSUPPORT },
    { code: LOAD, value: OFFSET_ARGUMENT[1], label: "inet" },
    { code: AND, value: SOCKET_TYPE_BITS },
    ...INET_TYPES.map((value) => ({ code: JUMP_EQUAL, value, then: "protocol" })),
    { code: RETURN, value: FAIL | ESOCKTNOSUPPORT },
    { code: LOAD, value: OFFSET_ARGUMENT[2], label: "protocol" },
    ...INET_PROTOCOLS.map((value) => ({ code: JUMP_EQUAL, value, then: "allowed" })),
    { code: RETURN, value: FAIL | EPROTONOSUPPORT },
    { code: LOAD, value: OFFSET_ARGUMENT[2], label: "netlink" },
    ...NETLINK_PROTOCOLS.map((value) => ({ code: JUMP_EQUAL, value, then: "allowed" })),
    { code: RETURN, value: FAIL | EPROTONOSUPPORT },
    { code: LOAD, value: OFFSET_ARGUMENT[0], label: "socketpair" },
    { code: JUMP_EQUAL, value: UNIX, then: "allowed" },
    { code: RETURN, value: FAIL | EAFNOSUPPORT },
    { code: LOAD, value: OFFSET_ARGUMENT[0], label: "personality" },
    ...PERSONALITIES.map((value) => ({ code: JUMP_EQUAL, value, then: "allowed" })),
    { code: RETURN, value: FAIL | EPERM },
    { code: LOAD, value: OFFSET_ARGUMENT[1], label: "ioctl" },
    { code: JUMP_EQUAL, value: TIOCSTI, then: "refused" },
    { code: JUMP_EQUAL, value: TIOCLINUX, then: "refused" },
    { code: RETURN, value: ALLOW, label: "allowed" },
    { code: RETURN, value: FAIL | EPERM, label: "refused" },
    { code: RETURN, value: FAIL | ENOSYS, label: "unknown" },
    // A program of another architecture has other numbers for all system calls.
    { code: RETURN, value: KILL_PROCESS, label: "foreign" },
  ];
  return assemble(lines);
}

function assemble(lines: readonly Instruction[]): Uint8Array {
  const labels = new Map(lines.flatMap(({ label }, index) => (label === undefined ? [] : [[label, index]])));
  const bytes = new DataView(new ArrayBuffer(lines.length * 8));
  for (const [index, { code, value, then, otherwise }] of lines.entries()) {
    const distance = (label: string | undefined): number =>
      label === undefined ? 0 : (labels.get(label) ?? Number.NaN) - index - 1;
    bytes.setUint16(index * 8, code, true);
    bytes.setUint8(index * 8 + 2, distance(then));
    bytes.setUint8(index * 8 + 3, distance(otherwise));
    bytes.setUint32(index * 8 + 4, value, true);
  }
  return new Uint8Array(bytes.buffer);
}
