// Programs that fetch what they run each time they are started: in a box without those hosts they have nothing to run.

import { basename } from "node:path";
import type { LaunchPlan } from "../launch/index.ts";

const FETCHERS: ReadonlySet<string> = new Set(["uvx", "uv", "pipx", "bunx", "bun", "pnpm", "pnpx", "yarn"]);

/** Nothing for other programs, nor where the network is granted. */
export function fetcherHint({ program, sandbox }: LaunchPlan): string | undefined {
  const name = basename(program).replace(/\.(?:exe|cmd)$/i, "");
  if (!FETCHERS.has(name) || sandbox.box.network.length > 0) return undefined;
  return `${name} fetches its package when it starts, and its sandbox grants no host: grant those that it fetches from with --allow-net, or network in its sandbox; or install the package, and name its own program.`;
}
