// The environment of a server as a shell script. The programs that create the sandbox get none of it, and no
// value is on a command line that other users could read.

import { command, quote } from "./shell-words.ts";

/**
 * Names that a shell cannot export, keeps for itself, or reacts to. `env` sets them, whose command line is visible
 * for a moment.
 */
const NOT_FOR_A_SHELL =
  /^(?:[^A-Za-z_]|.*\W)|^(?:_|IFS|PS[0-4]|OPT(?:IND|ARG|ERR)|PPID|UID|EUID|GROUPS|RANDOM|SRANDOM|SECONDS|LINENO|SHLVL|SHELLOPTS|POSIXLY_CORRECT|ENV|CDPATH|DIRSTACK|FUNCNAME|PIPESTATUS|HIST\w*|EPOCH\w*|COMP_\w*|BASH\w*|LANG|LC_\w*|PWD|OLDPWD)$/s;

/**
 * The script closes its own descriptor, and replaces itself with the command in its arguments. Without `env`, names
 * of that kind are not set.
 */
export function environmentScript(
  all: Readonly<Record<string, string>>,
  env: string | undefined,
  descriptor: number,
): string {
  const entries = Object.entries(all).filter(([name]) => name !== "" && !name.includes("="));
  const isPlain = ([name]: readonly [string, string]): boolean => !NOT_FOR_A_SHELL.test(name);
  const exported = entries.filter(isPlain).map(([name, value]) => `export ${name}=${quote(value)}`);
  const odd = entries.filter((entry) => !isPlain(entry)).map(([name, value]) => `${name}=${value}`);
  const run = env === undefined || odd.length === 0 ? "exec" : `exec ${command(env, ...odd)}`;
  // PATH of the programs before is not among the server's variables if its config sets none.
  return ["unset PATH PWD OLDPWD", `exec ${descriptor}<&-`, ...exported, `${run} "$@"`, ""].join("\n");
}
