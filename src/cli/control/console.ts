// `portolan console`: prints a link that signs in to the console of the running gateway once.

import type { Cli } from "../context.ts";
import { type RawControlOptions, requireGateway, withGateway } from "./find.ts";

export interface RawConsoleOptions extends RawControlOptions {
  open?: boolean;
}

export async function showConsole(cli: Cli, raw: RawConsoleOptions): Promise<number> {
  const { io, output } = cli;
  const gateway = await requireGateway(cli, raw);
  const link = await withGateway(gateway, (client) => client.consoleLink());
  if (output.form === "json") output.json({ url: link });
  else {
    output.print(link);
    output.note(output.noteColors.dim("The link works once, within five minutes."));
  }
  if (raw.open === true && !(await io.openBrowser(link)))
    output.note("Portolan could not open a browser. Open the link yourself.");
  return 0;
}
