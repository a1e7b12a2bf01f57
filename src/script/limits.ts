// Limits of a script. A script is untrusted input, so each limit applies before the work that it bounds.

export const SCRIPT_LIMITS: {
  /** Size of a script file, in bytes. */
  readonly bytes: number;
  readonly statements: number;
  readonly imports: number;
  /** Nesting of objects and lists in the script, and of values that it builds. */
  readonly depth: number;
  /** Number of syntax errors that are reported. */
  readonly errors: number;
  /** Characters and entries that one run may build, print and send, in total. */
  readonly work: number;
} = {
  bytes: 1024 * 1024,
  statements: 1_000,
  imports: 20,
  depth: 64,
  errors: 50,
  work: 64 * 1024 * 1024,
};
