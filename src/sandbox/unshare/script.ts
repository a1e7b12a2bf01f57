// The shell script that creates a sandbox, from namespaces that `unshare` has made, and starts a command in it.

import type { FileSystemScript } from "./file-system.ts";
import type { Programs } from "./programs.ts";
import { command } from "./shell-words.ts";

export interface ScriptRequest {
  readonly programs: Programs;
  readonly hostname: string;
  readonly files: FileSystemScript;
  readonly cwd: string;
  /** User and group id inside of the sandbox. */
  readonly uid: number;
  readonly gid: number;
  /** Routes all addresses to the relay, which then needs no rights of its own. */
  readonly isRouted: boolean;
  /** The words that install the filter of system calls. */
  readonly filter: readonly string[];
  /** Descriptor of the script that sets the environment. */
  readonly environment: number;
  /** Descriptors that the command does not get. */
  readonly close: readonly number[];
}

/** The exit code of a sandbox that could not be created. */
const FAILED = 126;
const REACH_LO = "link set lo up";
const ROUTES = ["route add local 0.0.0.0/0 dev lo", "route add local ::/0 dev lo"];

/**
 * The words that create the namespaces around a command. The first process ends with Portolan, and all with it. It
 * leads a session of its own, without a terminal.
 */
export function namespaceWords({ setpriv, unshare, setsid }: Programs): string[] {
  const namespaces = ["--user", "--map-root-user", "--mount", "--pid", "--ipc", "--uts", "--net", "--cgroup"];
  const dies = [setpriv, "--pdeathsig", "KILL", "--"];
  return [
    ...dies,
    unshare,
    ...namespaces,
    "--fork",
    "--kill-child",
    "--propagation",
    "private",
    "--",
    setsid,
  ];
}

/**
 * The first process stays outside of the second user namespace, where the server cannot trace or stop it. The
 * server cannot make a third user namespace.
 */
export function sandboxScript(request: ScriptRequest): string {
  const { programs, files, cwd, hostname, close } = request;
  const { umount, pivot_root: pivot } = programs;
  const lines = [
    "echo 1 > /proc/sys/user/max_user_namespaces",
    ...networkLines(request),
    ...files.lines,
    command("cd", files.root),
    command(pivot, ".", "."),
    command(umount, "-l", "."),
    command("cd", cwd),
  ];
  const optional = programs.hostname === undefined ? [] : [command(programs.hostname, hostname)];
  return [
    `fail() { echo "portolan: the sandbox could not be created (step $1)" >&2; exit ${FAILED}; }`,
    "umask 022",
    ...optional,
    ...lines.map((line, index) => `${line} || fail ${index + 1}`),
    [...serverWords(request), '"$@"', ...close.map((fd) => `${fd}<&-`)].join(" "),
    "exit $?",
    "",
  ].join("\n");
}

function networkLines({ programs: { ip }, isRouted }: ScriptRequest): string[] {
  if (ip === undefined) return isRouted ? ["false"] : [];
  if (!isRouted) return [command(ip, ...REACH_LO.split(" "))];
  const lines = [REACH_LO, ...ROUTES].join("\\n");
  return [
    // The machine may have no IPv6.
    `{ printf '${lines}\\n' | ${command(ip, "-force", "-batch", "-")} 2> /dev/null || :; }`,
    "echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start",
  ];
}

function serverWords({ programs, uid, gid, filter, environment }: ScriptRequest): string[] {
  const { unshare, setpriv, sh } = programs;
  const user = ["--user", `--map-user=${uid}`, `--map-group=${gid}`, "--keep-caps", "--"];
  const rights = ["--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all", "--no-new-privs", "--"];
  const environmentWords = [sh, "-c", `. /proc/self/fd/${environment}`, "sh"];
  return [command(unshare, ...user, setpriv, ...rights, ...filter, ...environmentWords)];
}
