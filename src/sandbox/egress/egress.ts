// Network access of one sandboxed server: an egress proxy outside of the sandbox that checks the allow-list, and a
// relay inside.

import { randomBytes } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import { hostname } from "node:os";
import { fileURLToPath } from "node:url";
import { PortolanError } from "../../errors/index.ts";
import { type Denied, type NetworkRule, parseNetworkRule } from "../../model/index.ts";
import type { Program } from "../../process/index.ts";
import { findAddressTools } from "./address-tools.ts";
import type { Lookup } from "./allow-list.ts";
import { openEgressProxy } from "./proxy.ts";
import { createSocketFolder } from "./socket-folder.ts";

export type { Lookup } from "./allow-list.ts";

export interface EgressOptions {
  readonly server: string;
  readonly rules: readonly string[];
  readonly onDenied: (denied: Denied) => void;
  readonly lookup?: Lookup;
  /**
   * Whether all addresses lead to the relay, so that names keep their real addresses inside. Default: if this
   * machine has `ip`.
   */
  readonly bareAddresses?: boolean;
  /**
   * Whether the sandbox itself routes all addresses to the relay and opens low ports, so that the relay needs no
   * capabilities. Default: false.
   */
  readonly isRouted?: boolean;
}

export interface Egress {
  /**
   * The proxy's socket, to be mounted read-only at `inside`. Its path outside is removed once the relay has
   * connected, so that no other server finds it.
   */
  readonly socket: { readonly outside: string; readonly inside: string };
  /**
   * Settings of the relay, to be passed in a descriptor, because any program in the sandbox could read arguments
   * and variables.
   */
  readonly settings: string;
  /** Files to create in the sandbox. */
  readonly files: readonly { readonly path: string; readonly content: string }[];
  /** Paths to mount read-only. */
  readonly mounts: readonly string[];
  /** Capabilities to keep in the sandbox, which must have its own network namespace. */
  readonly caps: readonly string[];
  /** The command that runs in the sandbox instead of the program. The descriptor `fd` contains the settings. */
  command(
    program: Program,
    fd: number,
  ): {
    readonly file: string;
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
  };
  /** Closes all connections and accepts no more. */
  close(): void;
}

/** Variables that would affect the relay; the server gets them back from it. */
const PUT_ASIDE = /^(NODE_|LD_|UV_|OPENSSL_|SSL_|MALLOC_|GLIBC_)/;

/** The relay always listens on these ports, so that attempts to reach them are reported. */
const WATCHED_PORTS = [443, 80];

/** A path in a folder that every sandbox has of its own. */
const INSIDE = "/dev/portolan-egress";

export async function openEgress(options: EgressOptions): Promise<Egress> {
  const rules = options.rules.map((text) => ruleOf(text, options.server));
  const relay = findRelay();
  const isRouted = options.isRouted === true;
  const tools = isRouted ? undefined : findAddressTools(options.bareAddresses);
  const folder = createSocketFolder();
  try {
    const { server, onDenied, lookup } = options;
    const token = randomBytes(32).toString("base64url");
    const proxy = await openEgressProxy({
      ...{ path: folder.socket, token, server, rules, onDenied, lookup },
      onRelay: () => folder.remove(),
    });
    const node = realpathSync(process.execPath);
    const settings = {
      socket: INSIDE,
      token,
      ports: [...new Set([...WATCHED_PORTS, ...rules.flatMap((rule) => rule.ports)])],
      isRouted,
      setup: tools?.setup,
      drop: tools?.drop ?? [],
    };
    return {
      socket: { outside: folder.socket, inside: INSIDE },
      settings: JSON.stringify(settings),
      files: FILES(),
      mounts: [node, relay, ...(tools?.mounts ?? [])],
      caps: isRouted ? [] : ["CAP_NET_BIND_SERVICE", ...(tools?.caps ?? [])],
      command: ({ file, args, env }, fd) => ({
        file: node,
        // Options of V8 itself would invalidate its code cache and make the start a third longer.
        args: ["--v8-pool-size=0", relay, String(fd), file, ...args],
        env: Object.fromEntries(
          Object.entries(env).map(([name, value]) => [
            PUT_ASIDE.test(name) ? `PORTOLAN_KEPT_${name}` : name,
            value,
          ]),
        ),
      }),
      close: () => {
        proxy.close();
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

/** The relay is beside this source file, and at the top of the built package. */
function findRelay(): string {
  for (const place of ["./relay.cjs", "../relay.cjs"]) {
    const file = fileURLToPath(new URL(place, import.meta.url));
    if (existsSync(file)) return realpathSync(file);
  }
  throw new PortolanError("SANDBOX_UNAVAILABLE", "A file of this program is missing: relay.cjs.", {
    hint: "Install portolan again. If you bundle portolan, copy dist/relay.cjs of the package beside the bundle.",
  });
}
