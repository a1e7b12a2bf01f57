// Second sandbox inside of the first, for a server that may use the network but may not start processes: its relay
// must start one.

import { realpath } from "node:fs/promises";
import type { Program } from "../../process/index.ts";
import type { SandboxPolicy } from "../types.ts";
import type { Extra } from "../linux/layout.ts";
import type { BubblewrapProbe } from "./probe.ts";
import { seccompProgram } from "../linux/seccomp.ts";

const FILTER = "/etc/portolan-filter";
const OTHER_UID = 1000;
const SHELL = "/bin/sh";

export interface Nested extends Pick<Extra, "mounts" | "files"> {
  /**
   * Root without capabilities may not create a namespace that maps root, so that the outer sandbox uses another
   * user id.
   */
  readonly uid: number | undefined;
  /** The command that the relay runs instead of the program. */
  command(program: Program): Program;
}

export async function nestedSandbox(policy: SandboxPolicy, { bwrap }: BubblewrapProbe): Promise<Nested> {
  const filter = seccompProgram({ spawn: false });
  // A pid namespace of its own keeps the relay's memory out of reach through /proc.
  const namespaces = ["--unshare-user", "--unshare-pid"];
  // A session of its own, so that SIGTERM reaches the server and not the sandbox around it.
  const walls = [...namespaces, "--die-with-parent", "--new-session", "--cap-drop", "ALL"];
  const mounts = [
    "--dev-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    ...["--ro-bind", "/proc/sys", "/proc/sys"],
    "--chdir",
    policy.cwd ?? policy.home,
  ];
  // A shell opens the filter, because the relay passes on only the three standard descriptors. It replaces itself
  // with bubblewrap.
  const opens = ["-c", `exec 9< ${FILTER} && exec "$@"`, "sh"];
  const inner = [bwrap, ...walls, ...mounts, "--seccomp", "9", "--"];
  return {
    uid: process.getuid?.() === 0 ? OTHER_UID : undefined,
    mounts: [...new Set([bwrap, SHELL, await realpath(bwrap), await realpath(SHELL)])],
    files: filter === undefined ? [] : [{ path: FILTER, content: filter }],
    command: (program) => ({
      ...program,
      file: SHELL,
      args: [...opens, ...inner, program.file, ...program.args],
    }),
  };
}
