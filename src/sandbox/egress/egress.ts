// Public face of egress: a server's network list, held by a gate outside of its box and a relay inside of it.

import { randomBytes } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import { hostname } from "node:os";
import { fileURLToPath } from "node:url";
import { PortolanError } from "../../errors/index.ts";
import { type Denied, type NetworkRule, parseNetworkRule } from "../../model/index.ts";
import type { Program } from "../../process/index.ts";
import { findAddressTools } from "./address-tools.ts";
import type { Lookup } from "./allow-list.ts";
import { openGate } from "./proxy.ts";
import { createSocketFolder } from "./socket-folder.ts";

export type { Lookup } from "./allow-list.ts";

export interface EgressOptions {
  readonly server: string;
  readonly rules: readonly string[];
  readonly onDenied: (denied: Denied) => void;
  readonly lookup?: Lookup | undefined;
  /** Whether every address leads to the gate, so that names have their real ones inside. Default: where this machine has `ip` for it. */
  readonly bareAddresses?: boolean | undefined;
}

export interface Egress {
  /** The gate's socket, to be mounted, read-only, at another path. Outside it is gone as soon as the relay has come: no other server finds it. */
  readonly socket: { readonly outside: string; readonly inside: string };
  /** For the relay alone: to be readable, once, from a descriptor. Arguments and variables could be read by anyone in the box. */
  readonly settings: string;
  /** To be there in the box. */
  readonly files: readonly { readonly path: string; readonly content: string }[];
  /** To be mounted, read-only, at the same paths. */
  readonly mounts: readonly string[];
  /** To be kept in the box, whose network namespace must be its own. */
  readonly caps: readonly string[];
  /** What runs in the box instead of the program, and with which environment; `fd` has the settings. */
  command(
    program: Program,
    fd: number,
  ): {
    readonly file: string;
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
  };
  /** Nothing gets out any more. */
  close(): void;
}

/** Variables that would change the relay or this program's own tools; kept for the server under other names. */
const PUT_ASIDE = /^(NODE_|LD_|UV_|OPENSSL_|SSL_|MALLOC_|GLIBC_)/;

/** Listened on whatever the rules say: attempts to get there are worth telling of, and no server may use them itself. */
const WATCHED_PORTS = [443, 80];

/** In a folder that is the box's own whatever it is given. */
const INSIDE = "/dev/portolan-gate";

export async function openEgress(options: EgressOptions): Promise<Egress> {
  const rules = options.rules.map((text) => ruleOf(text, options.server));
  const relay = findRelay();
  const tools = findAddressTools(options.bareAddresses);
  const folder = createSocketFolder();
  try {
    const { server, onDenied, lookup } = options;
    const token = randomBytes(32).toString("base64url");
    const gate = await openGate({
      ...{ path: folder.socket, token, server, rules, onDenied, lookup },
      onRelay: () => folder.remove(),
    });
    const node = realpathSync(process.execPath);
    const settings = {
      socket: INSIDE,
      token,
      ports: [...new Set([...WATCHED_PORTS, ...rules.flatMap((rule) => rule.ports)])],
      setup: tools?.setup,
      drop: tools?.drop ?? [],
    };
    return {
      socket: { outside: folder.socket, inside: INSIDE },
      settings: JSON.stringify(settings),
      files: FILES(),
      mounts: [node, relay, ...(tools?.mounts ?? [])],
      caps: ["CAP_NET_BIND_SERVICE", ...(tools?.caps ?? [])],
      command: ({ file, args, env }, fd) => ({
        file: node,
        // Options of the engine itself would make its cached code unusable, and the start a third longer.
        args: ["--v8-pool-size=0", relay, String(fd), file, ...args],
        env: Object.fromEntries(
          Object.entries(env).map(([name, value]) => [
            PUT_ASIDE.test(name) ? `PORTOLAN_KEPT_${name}` : name,
            value,
          ]),
        ),
      }),
      close: () => {
        gate.close();
        folder.remove();
      },
    };
  } catch (error) {
    folder.remove();
    throw error;
  }
}

function ruleOf(text: string, server: string): NetworkRule {
  const parsed = parseNetworkRule(text);
  if (parsed.ok) return parsed.rule;
  throw new PortolanError("CONFIG_INVALID", `network: ${JSON.stringify(text)}: ${parsed.problem}`, {
    server,
    hint: parsed.hint,
  });
}

const FILES = (): Egress["files"] => [
  { path: "/etc/resolv.conf", content: "nameserver 127.0.0.1\noptions timeout:12 attempts:1\n" },
  {
    path: "/etc/nsswitch.conf",
    content:
      "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\nprotocols: files\n",
  },
  { path: "/etc/hosts", content: `127.0.0.1 localhost ${hostname()}\n` },
];

/** It stands beside this source, and at the top of what is built, whichever of its files this one went into. */
function findRelay(): string {
  for (const place of ["./relay.cjs", "../relay.cjs"]) {
    const file = fileURLToPath(new URL(place, import.meta.url));
    if (existsSync(file)) return realpathSync(file);
  }
  throw new PortolanError("SANDBOX_UNAVAILABLE", "A file of this program is missing: relay.cjs.", {
    hint: "Install portolan again; a bundle of it needs relay.cjs beside it.",
  });
}
