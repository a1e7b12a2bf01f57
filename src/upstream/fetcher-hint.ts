// Programs that fetch what they run each time they are started: in a box without those hosts they have nothing to run.

import { basename } from "node:path";
import type { LaunchPlan } from "../launch/index.ts";

const PYTHON = ["pypi.org", "files.pythonhosted.org"];
const NODE = ["registry.npmjs.org"];
const HOSTS: Readonly<Record<string, readonly string[]>> = {
  ...{ uvx: PYTHON, uv: PYTHON, pipx: PYTHON },
  ...{ bunx: NODE, bun: NODE, pnpm: NODE, pnpx: NODE, yarn: NODE },
};

/** Nothing for other programs, nor where the network is granted. */
export function fetcherHint({ program, sandbox }: LaunchPlan): string | undefined {
  const name = basename(program).replace(/\.(?:exe|cmd)$/i, "");
  const hosts = Object.hasOwn(HOSTS, name) ? HOSTS[name] : undefined;
  if (hosts === undefined || sandbox.box.network.length > 0) return undefined;
  const flags = hosts.map((host) => `--allow-net ${host}`).join(" ");
  return `${name} fetches its package when it starts, and its sandbox grants no host: ${flags}, or network: [${hosts.join(", ")}] in its sandbox; or install the package, and name its own program.`;
}
