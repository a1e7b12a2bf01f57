// A second box inside of the first, for a server that may reach the network and may not start processes: the relay, which starts it, must.

import { realpath } from "node:fs/promises";
import type { Program } from "../../process/index.ts";
import type { Box } from "../types.ts";
import type { Extra } from "./arguments.ts";
import type { BubblewrapProbe } from "./probe.ts";
import { seccompProgram } from "./seccomp.ts";

const FILTER = "/etc/portolan-filter";
const OTHER_UID = 1000;
const SHELL = "/bin/sh";

export interface Nested extends Pick<Extra, "mounts" | "files"> {
  /** Root without its rights may not make a namespace with root in it, so that the outer one calls it otherwise. */
  readonly uid: number | undefined;
  /** What the relay runs instead of the program. */
  command(program: Program): Program;
}

export async function nestedBox(box: Box, { bwrap }: BubblewrapProbe): Promise<Nested> {
  const filter = seccompProgram({ spawn: false });
  // Processes of its own, so that the relay's memory cannot be reached through /proc.
  const namespaces = ["--unshare-user", "--unshare-pid"];
  // A session of its own, so that the server can be asked to end without ending what holds it.
  const walls = [...namespaces, "--die-with-parent", "--new-session", "--cap-drop", "ALL"];
  const mounts = [
    "--dev-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    ...["--ro-bind", "/proc/sys", "/proc/sys"],
    "--chdir",
    box.cwd ?? box.home,
  ];
  // A shell, since the relay passes on no descriptors but the usual three. It has left before the server begins.
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
