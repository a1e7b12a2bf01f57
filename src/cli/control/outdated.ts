// Notes about running gateways of the workspace that still use a value from before.

import type { Cli } from "../context.ts";
import { workspaceOption } from "../workspace/elsewhere.ts";
import { workspaceFolder } from "../workspace/folder.ts";
import { gatewayLabel } from "../workspace/running.ts";

/** Says for each running gateway what it still uses, with the command that ends it. */
export async function noteOutdated(
  { io, output, options }: Pick<Cli, "io" | "output" | "options">,
  what: string,
  command = "reload",
): Promise<void> {
  const path = workspaceFolder(io, options);
  const { gateways } = await io.findGateways(path);
  const place = options.workspace === undefined ? "" : ` ${workspaceOption(path, io)}`;
  for (const gateway of gateways) {
    // With several gateways, the command must name one.
    const pid = gateways.length === 1 ? "" : ` --pid ${gateway.pid}`;
    output.note(
      output.noteColors.yellow(
        `The gateway ${gatewayLabel(gateway)} ${what}: portolan ${command}${place}${pid}`,
      ),
    );
  }
}
