// The filter of system calls that a box is under, as the bytes of a BPF program: no compiler and no native module is needed for it.

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
/** Typing into the terminal of somebody else, and its like on a console. */
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
/** Families of sockets. Others reach past the network namespace (vsock), or straight into rarely used parts of the kernel. */
const [UNIX, INET, INET6, NETLINK] = [1, 2, 10, 16];
/** SOCK_STREAM and SOCK_DGRAM, without the flags beside them. */
const [SOCKET_TYPE_BITS, INET_TYPES] = [0xf, [1, 2]];
/** The default, TCP and UDP: no MPTCP, SCTP, UDP-Lite or others, which load modules of the kernel. */
const INET_PROTOCOLS = [0, 6, 17];
/** NETLINK_ROUTE, by which every C library finds the interfaces; no audit, firewall, device events or others. */
const NETLINK_PROTOCOLS = [0];
/** The plain one, and the question which it is; others switch off the randomising of addresses, or make data executable. */
const PERSONALITIES = [0, 0xffffffff];

/** What bubblewrap itself does. */
const FOR_NESTING = new Set(["mount", "umount2", "pivot_root", "unshare", "chroot"]);

interface Instruction {
  readonly code: number;
  readonly value: number;
  /** Where to go on: a label, or nothing for the next line. */
  readonly then?: string | undefined;
  readonly otherwise?: string | undefined;
  readonly label?: string | undefined;
}

export interface SeccompOptions {
  /** Whether new processes may be started; threads always may. */
  readonly spawn: boolean;
  /** Whether another box may be made inside; for what starts one, never for a server. */
  readonly nests?: boolean | undefined;
  /** As `process.arch` names it. */
  readonly arch?: string | undefined;
}

export function knowsArchitecture(arch: string = process.arch): boolean {
  return ARCHITECTURES[arch] !== undefined;
}

/** Undefined for a processor whose numbers are not known here. */
export function seccompProgram({
  spawn,
  nests = false,
  arch = process.arch,
}: SeccompOptions): Uint8Array | undefined {
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
    // Its flags lie in memory, where a filter cannot look. Told that it does not exist, every C library takes clone.
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
    // A program of another architecture has other numbers for everything, the way out included.
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
