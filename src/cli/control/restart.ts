// `portolan restart`: replaces the processes of a server of the running gateway.

import type { Cli } from "../context.ts";
import { takeOneWord } from "../options/usage-error.ts";
import { withSpinner } from "../output/progress.ts";
import { describeHealth, hasFailed, nextCommand, serverLine } from "../output/server-state.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { gatewayLabel, toGatewayField } from "../workspace/running.ts";
import { type RawControlOptions, requireGateway, requireServed, withGateway } from "./find.ts";

export interface RawRestartOptions extends RawControlOptions {
  stopFirst?: boolean;
}

export async function restart(cli: Cli, words: readonly string[], raw: RawRestartOptions): Promise<number> {
  const { output, interrupt } = cli;
  const hint =
    "portolan restart <server>. To see the names of the servers: portolan status. To restart the gateway itself: portolan stop, then portolan serve --daemon";
  const alias = takeOneWord(words, { command: "restart", noun: "server", hint });
  const gateway = await requireGateway(cli, raw);
  const health = await withGateway(gateway, async (client) => {
    requireServed(client, alias);
    return withSpinner(cli, (spinner) => {
      spinner.start(`restarting ${plainLine(alias, 60)}`);
      return client.restart(alias, interrupt.signal, raw.stopFirst);
    });
  });
  const isDone = !hasFailed(health);
  if (output.form === "json") output.json({ server: alias, gateway: toGatewayField(gateway), health });
  else {
    const { colors } = output;
    const gatewayText = `The gateway ${gatewayLabel(gateway)}`;
    if (isDone) output.note(colors.dim(`${gatewayText} restarted the server.`));
    else output.note(`${output.noteColors.red("error")} ${gatewayText} could not restart the server.`);
    output.print(isDone ? serverLine(health, colors) : describeHealth(health, colors));
    const next = isDone ? nextCommand(health) : undefined;
    if (next !== undefined) output.print(next);
  }
  return isDone ? 0 : 3;
}
