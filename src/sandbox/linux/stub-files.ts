// Files of /etc that every sandbox has of its own: accounts and host names that reveal nothing about the machine.

import type { SandboxFile } from "./layout.ts";

export const SANDBOX_HOSTNAME = "portolan";

/** `other` is the user and group id inside of the sandbox, where it is not that of Portolan. */
export function stubFiles(home: string, other: number | undefined): SandboxFile[] {
  const [uid, gid] = [other ?? process.getuid?.() ?? 0, other ?? process.getgid?.() ?? 0];
  const root = uid === 0 ? [] : ["root:x:0:0:root:/:/usr/sbin/nologin"];
  const user = `user:x:${uid}:${gid}:user:${home.replaceAll(/[:\n]/g, "_")}:/bin/sh`;
  const nobody = uid === 65_534 ? [] : ["nobody:x:65534:65534:nobody:/:/usr/sbin/nologin"];
  const groups = [`user:x:${gid}:`, ...(gid === 65_534 ? [] : ["nogroup:x:65534:"])];
  return [
    { path: "/etc/passwd", content: `${[...root, user, ...nobody].join("\n")}\n` },
    { path: "/etc/group", content: `${groups.join("\n")}\n` },
    { path: "/etc/hosts", content: `127.0.0.1 localhost ${SANDBOX_HOSTNAME}\n::1 localhost\n` },
    { path: "/etc/resolv.conf", content: "" },
    { path: "/etc/nsswitch.conf", content: "passwd: files\ngroup: files\nhosts: files\n" },
  ];
}
