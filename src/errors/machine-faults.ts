// Errors of the operating system that are faults of the machine, not of Portolan: a full disk, too many open files, a held lock.

interface MachineFault {
  readonly what: string;
  readonly hint: string;
}

const FAULTS: Readonly<Record<string, MachineFault>> = {
  EMFILE: {
    what: "this program may not open more files",
    hint: "Raise its limit (ulimit -n 4096), or run fewer servers at once.",
  },
  ENFILE: { what: "the machine may not open more files", hint: "End other programs, and try again." },
  ENOSPC: { what: "the disk is full", hint: "Free some space on it, and try again." },
  EDQUOT: { what: "your quota on the disk is used up", hint: "Free some space, and try again." },
  EROFS: {
    what: "the disk may only be read",
    hint: "Make it writable, or choose another folder for Portolan's data with XDG_DATA_HOME.",
  },
  LOCK_HELD: {
    what: "another process uses the file",
    hint: "Wait for it to finish, or remove the lock file if you know that it is left over.",
  },
  ENOMEM: { what: "there is not enough memory", hint: "End other programs, and try again." },
};

/** Returns undefined for all other errors. */
export function machineFault(thrown: unknown): MachineFault | undefined {
  const code = (thrown as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" && Object.hasOwn(FAULTS, code) ? FAULTS[code] : undefined;
}
