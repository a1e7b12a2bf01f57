// As whom the tests of the sandbox run their programs, and in the sandbox of which backend.

import { chmodSync, existsSync, fchmodSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Spawnable } from "../../src/process/index.ts";

export const isRoot: boolean = process.getuid?.() === 0;

/** Root and an ordinary user where both are possible: needs("an ordinary user"). */
export const USERS: readonly string[] = isRoot ? ["root", "an ordinary user"] : ["an ordinary user"];

/** The backends of Linux that give the same guarantees. The name is also that of what they need. */
export const BACKENDS = ["bubblewrap", "unshare"] as const;
export type TestedBackend = (typeof BACKENDS)[number];

/** Every user with bubblewrap, and one with unshare, because these tests take long. */
export const BACKENDS_AND_USERS: readonly (readonly [TestedBackend, string])[] = [
  ...USERS.map((as) => ["bubblewrap", as] as const),
  ["unshare", "an ordinary user"],
];

/** The sandbox, started by an ordinary user. What it reads belongs to the user that the tests run as. */
export function startedAs(made: Spawnable, as: string | undefined): Spawnable {
  if (!isRoot || as !== "an ordinary user") return made;
  const drop = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "--", made.file];
  // The socket that reports lookups is for the user that the tests run as. bubblewrap does without it.
  const names = made.args.indexOf("--ro-bind-try");
  const args = names === -1 ? made.args : made.args.toSpliced(names, 3);
  for (const fd of made.fds) fchmodSync(fd, 0o644);
  openSockets(process.env.XDG_RUNTIME_DIR ?? tmpdir());
  return { ...made, file: "setpriv", args: [...drop, ...args] };
}

function openSockets(base: string): void {
  const folder = join(base, `portolan-egress-${process.getuid?.()}`);
  if (!existsSync(folder)) return;
  chmodSync(folder, 0o755);
  for (const name of readdirSync(folder).filter((one) => one.startsWith(`${process.pid}.`))) {
    chmodSync(join(folder, name), 0o755);
    for (const socket of readdirSync(join(folder, name))) chmodSync(join(folder, name, socket), 0o777);
  }
}
