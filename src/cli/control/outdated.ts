// Notes about running gateways of the workspace that still use a value from before.

import type { RunningGateway } from "../../control/index.ts";
import type { Cli } from "../context.ts";
import { pathLabeller, workspaceFolder } from "../workspace/folder.ts";
import { gatewayLabel } from "../workspace/running.ts";

/** Says for each running gateway what it still uses, with the command that makes it read the value again. Returns the gateways. */
export async function noteOutdated(
  { io, output, options }: Pick<Cli, "io" | "output" | "options">,
  what: string,
  command = "reload",
): Promise<readonly RunningGateway[]> {
  const { gateways } = await io.findGateways(workspaceFolder(io, options));
  const place =
    options.workspace === undefined ? "" : ` -w ${pathLabeller(io)(workspaceFolder(io, options))}`;
  for (const gateway of gateways) {
    // With several gateways, the command must name one.
    const pid = gateways.length === 1 ? "" : ` --pid ${gateway.pid}`;
    output.note(
      output.noteColors.yellow(
        `The gateway ${gatewayLabel(gateway)} ${what}: portolan ${command}${place}${pid}`,
      ),
    );
  }
  return gateways;
}
