// What the sandbox's tests need of the machine; without it they say so and are skipped.

import { spawnSync } from "node:child_process";

let found: boolean | undefined;

export function hasBubblewrap(what: string): boolean {
  const probe = ["--unshare-all", "--ro-bind", "/", "/", "true"];
  found ??= process.platform === "linux" && spawnSync("bwrap", probe, { stdio: "ignore" }).status === 0;
  if (!found)
    console.warn(
      `Not checked: ${what}. It needs bubblewrap (apt-get install bubblewrap) and user namespaces.`,
    );
  return found;
}

export const isRoot: boolean = process.getuid?.() === 0;
export const hasSetpriv: boolean = spawnSync("setpriv", ["--version"]).status === 0;

/** As whom boxes are tried: root and an ordinary user where both can be had. */
export const USERS: readonly string[] =
  isRoot && hasSetpriv ? ["root", "an ordinary user"] : [isRoot ? "root" : "an ordinary user"];
