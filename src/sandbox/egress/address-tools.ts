// Programs that the relay needs: `ip` routes all addresses to the relay, `setpriv` keeps the relay's capabilities
// from the server.

import { realpathSync } from "node:fs";
import { basename, join } from "node:path";

export interface AddressTools {
  readonly mounts: readonly string[];
  readonly caps: readonly string[];
  /** The relay runs it before the server. Absent: the server cannot connect to addresses without a name. */
  readonly setup:
    | { readonly file: string; readonly args: readonly string[]; readonly input: string }
    | undefined;
  /** Prefix of the server's command that drops the relay's capabilities. */
  readonly drop: readonly string[];
}

const FOLDERS = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
const CAPS = ["net_admin", "setpcap", "net_bind_service"];

/** Undefined without setpriv: the relay then gets no capabilities except for low ports. */
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
      // The variants of BusyBox lack options.
      if (basename(file) === name) return file;
    } catch {
      // The program is not in this folder.
    }
  }
  return undefined;
}
