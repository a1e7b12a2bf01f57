// Sandbox backend for Linux without bubblewrap: the programs of util-linux create the namespaces and mounts, and
// no installation is needed. Perl installs the filter of system calls; without Perl there is none.

import { PortolanError } from "../../errors/index.ts";
import { type OpenEgress, preloadNetwork } from "../linux/network.ts";
import { enforcedLimits } from "../linux/rules.ts";
import type { SandboxBackend } from "../types.ts";
import { probeUnshare } from "./probe.ts";
import { missing, unenforcedDefaults } from "./unenforceable.ts";
import { wrapWith } from "./wrap.ts";

export interface UnshareOptions {
  readonly openEgress?: OpenEgress;
}

export function createUnshare(options: UnshareOptions = {}): SandboxBackend {
  return {
    name: "unshare",
    probe: async () => (await probeUnshare()).report,
    missing: async (policy) => {
      preloadNetwork(policy);
      return missing(policy, await probeUnshare());
    },
    enforced: async (policy) => {
      const found = await probeUnshare();
      const enforced = enforcedLimits(policy, found);
      return {
        ...enforced,
        unenforcedDefaults: [...unenforcedDefaults(found), ...enforced.unenforcedDefaults],
      };
    },
    wrap: async (program, policy, context) => {
      const { programs, hasFilter } = await probeUnshare();
      if (programs === undefined)
        throw new PortolanError(
          "SANDBOX_UNAVAILABLE",
          "The programs that create a sandbox are not installed.",
          {
            server: context.server,
            hint: "See what this machine can enforce: portolan doctor.",
          },
        );
      return wrapWith(programs, { program, policy, context, hasFilter, openEgress: options.openEgress });
    },
  };
}
