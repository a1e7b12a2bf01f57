// Gateway of `portolan status`: a crashed one is an error, and servers that are started only for the check are named as such.

import type { RunningGateway } from "../../control/index.ts";
import { PortolanError } from "../../errors/index.ts";
import type { Cli } from "../context.ts";
import { noGateway } from "../control/find.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { optionFor } from "../workspace/elsewhere.ts";
import { gatewayLabel, startingOption } from "../workspace/running.ts";
import type { Source } from "../workspace/source.ts";

export interface StatusOptions {
  /** Requires a running gateway. */
  readonly gateway?: boolean;
}

/** Throws for options that exclude each other. */
export function requireUsable(cli: Cli, { gateway }: StatusOptions): void {
  const other = ownServersOption(cli);
  if (gateway !== true || other === undefined) return;
  throw new PortolanError("USAGE", `--gateway cannot be used with ${other}.`, {
    hint: `--gateway reads the state of the running gateway; ${other} starts servers of its own.`,
  });
}

/** Throws when the gateway of the workspace has crashed and no other one listens in its place. */
export async function refuseCrashed(cli: Cli, path: string): Promise<void> {
  if (ownServersOption(cli) !== undefined) return;
  const { gateways, ended } = await cli.io.findGateways(path);
  const last = ended.at(-1);
  if (last === undefined || gateways.some(({ kind }) => kind === "http")) return;
  const at = optionFor(path, cli.io);
  const log = last.log === undefined ? "" : ` Its log: ${last.log}`;
  throw new PortolanError(
    "SERVER_UNAVAILABLE",
    `The gateway ${gatewayLabel(last)} no longer runs: it crashed or was killed.`,
    {
      hint: `Start a gateway: portolan serve${at} --daemon. If no gateway should run, remove the record of the crashed gateway: portolan stop${at}.${log}`,
    },
  );
}

/** Runs before this process starts servers of its own. `gateway` runs, but does not serve the servers in `missing`. */
export async function checkStart(
  cli: Cli,
  { path, config }: Source,
  { gateway, missing }: { readonly gateway: RunningGateway | undefined; readonly missing: readonly string[] },
  options: StatusOptions,
): Promise<void> {
  if (options.gateway === true) {
    if (gateway === undefined) throw await noGateway(cli);
    throw new PortolanError(
      "SERVER_UNKNOWN",
      `The gateway ${gatewayLabel(gateway)} does not serve ${plainLine(missing.join(", "), 300)}.`,
      {
        hint: `To see the servers that the gateway serves: portolan status --gateway${optionFor(path, cli.io)}`,
      },
    );
  }
  const { output } = cli;
  if (config.servers.length === 0) return;
  // JSON has the field `gateway`.
  if (gateway !== undefined || output.form === "json" || ownServersOption(cli) !== undefined) return;
  // A gateway that is not trusted may run; a note has said so.
  if ((await cli.io.findGateways(path)).problems.length > 0) return;
  output.note(
    output.noteColors.yellow(
      "No gateway runs for this workspace; its servers are started for this check only.",
    ),
  );
}

/** The option by which the user asked for own servers. */
function ownServersOption(cli: Cli): string | undefined {
  return cli.options.standalone ? "--standalone" : startingOption(cli);
}
