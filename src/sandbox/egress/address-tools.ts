// Two programs of the system that stand by the relay: one lets bare addresses lead to it, too; the other keeps its rights from the server.

import { realpathSync } from "node:fs";
import { basename, join } from "node:path";

export interface AddressTools {
  readonly mounts: readonly string[];
  readonly caps: readonly string[];
  /** Run by the relay before it starts the server. Absent: bare addresses cannot be reached at all from inside. */
  readonly setup:
    | { readonly file: string; readonly args: readonly string[]; readonly input: string }
    | undefined;
  /** Stands before the server's command, so that the server gets nothing of what the relay may. */
  readonly drop: readonly string[];
}

const FOLDERS = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
const CAPS = ["net_admin", "setpcap", "net_bind_service"];

/** Nothing where rights could not be taken away again: then there are none to be had, but to listen at low ports of the box. */
export function findAddressTools(bareAddresses = true): AddressTools | undefined {
  const setpriv = find("setpriv");
  if (setpriv === undefined) return undefined;
  const ip = bareAddresses ? find("ip") : undefined;
  const none = CAPS.map((cap) => `-${cap}`).join(",");
  return {
    mounts: ip === undefined ? [setpriv] : [ip, setpriv],
    caps: ip === undefined ? ["CAP_SETPCAP"] : ["CAP_NET_ADMIN", "CAP_SETPCAP"],
    setup:
      ip === undefined
        ? undefined
        : {
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
