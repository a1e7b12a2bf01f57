// System call numbers that the seccomp filter uses, for x64 and arm64.

export interface Architecture {
  /** The value of `seccomp_data.arch`. */
  readonly audit: number;
  /** The column of the tables below. */
  readonly column: 0 | 1;
  /** Numbers from here on belong to another calling convention (x32). */
  readonly foreignFrom: number | undefined;
}

/** By `process.arch`. */
export const ARCHITECTURES: Readonly<Partial<Record<string, Architecture>>> = {
  x64: { audit: 0xc000003e, column: 0, foreignFrom: 0x40000000 },
  arm64: { audit: 0xc00000b7, column: 1, foreignFrom: undefined },
};

type Numbers = readonly [x64: number, arm64: number | undefined];

/** System calls that no server needs and that exploits use. */
export const FORBIDDEN: Readonly<Record<string, Numbers>> = {
  // Other processes' memory and descriptors.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  kcmp: [312, 272],
  pidfd_getfd: [438, 438],
  // The kernel's keyrings are not kept apart by namespaces.
  keyctl: [250, 219],
  add_key: [248, 217],
  request_key: [249, 218],
  // Kernel interfaces with a long history of vulnerabilities.
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  modify_ldt: [154, undefined],
  // Watches whole file systems; servers watch files with inotify.
  fanotify_init: [300, 262],
  fanotify_mark: [301, 263],
  // Mounts and namespaces, of which the sandbox itself consists.
  mount: [165, 40],
  umount2: [166, 39],
  move_mount: [429, 429],
  open_tree: [428, 428],
  open_tree_attr: [467, 467],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  pivot_root: [155, 41],
  chroot: [161, 51],
  setns: [308, 268],
  unshare: [272, 97],
  open_by_handle_at: [304, 265],
  name_to_handle_at: [303, 264],
  // Calls that affect the whole machine.
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  acct: [163, 89],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  vhangup: [153, 58],
  syslog: [103, 116],
  lookup_dcookie: [212, 18],
  iopl: [172, undefined],
  ioperm: [173, undefined],
  uselib: [134, undefined],
  ustat: [136, undefined],
  sysfs: [139, undefined],
};

/** memfd_secret: programs treat its absence as an older kernel. Its memory counts towards no limit. */
export const ABSENT: readonly Numbers[] = [[447, 447]];

/** System calls whose arguments decide. */
export const CLONE: Numbers = [56, 220];
export const CLONE3: Numbers = [435, 435];
export const IOCTL: Numbers = [16, 29];
export const SOCKET: Numbers = [41, 198];
export const SOCKETPAIR: Numbers = [53, 199];
export const PERSONALITY: Numbers = [135, 92];
/** x64 only; arm64 has clone for all of them. */
export const FORKS: readonly Numbers[] = [
  [57, undefined],
  [58, undefined],
];
