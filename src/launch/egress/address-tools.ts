// What lets a box be asked for bare addresses, too: inside, all of them lead to the relay, which needs two programs of the system.

import { realpathSync } from "node:fs";
import { basename, join } from "node:path";

export interface AddressTools {
  readonly mounts: readonly string[];
  readonly caps: readonly string[];
  /** Run by the relay before it starts the server. */
  readonly setup: { readonly file: string; readonly args: readonly string[]; readonly input: string };
  /** Stands before the server's command, so that the server gets nothing of what the relay may. */
  readonly drop: readonly string[];
}

const FOLDERS = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
const CAPS = ["net_admin", "setpcap", "net_bind_service"];

/** Nothing where a program is missing: then bare addresses cannot be reached at all from inside. */
export function findAddressTools(): AddressTools | undefined {
  const [ip, setpriv] = [find("ip"), find("setpriv")];
  if (ip === undefined || setpriv === undefined) return undefined;
  const none = CAPS.map((cap) => `-${cap}`).join(",");
  return {
    mounts: [ip, setpriv],
    caps: ["CAP_NET_ADMIN", "CAP_SETPCAP"],
    setup: {
      file: ip,
      args: ["-force", "-batch", "-"],
      input: "route add local 0.0.0.0/0 dev lo\nroute add local ::/0 dev lo\n",
    },
    drop: [setpriv, `--inh-caps=${none}`, `--ambient-caps=${none}`, `--bounding-set=${none}`, "--"],
  };
}

function find(name: string): string | undefined {
  for (const folder of FOLDERS) {
    try {
      const file = realpathSync(join(folder, name));
      // Those of BusyBox know too few of the options.
      if (basename(file) === name) return file;
    } catch {
      // Not here.
    }
  }
  return undefined;
}
