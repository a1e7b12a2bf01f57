// `portolan remove`: one server less in the workspace's own file.

import { didYouMean, PortolanError } from "../../errors/index.ts";
import { parseWorkspace, removeServer } from "../../formats/workspace/index.ts";
import type { Cli } from "../context.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { loadSource } from "../workspace/source.ts";
import { changeOwnFile, type OwnFile } from "./workspace-file.ts";

export async function remove(
  cli: Cli,
  words: readonly string[],
  options: { dryRun?: boolean },
): Promise<number> {
  const { output } = cli;
  const [alias, extra] = words;
  if (alias === undefined || extra !== undefined)
    throw new PortolanError("USAGE", alias === undefined ? "No name is given." : "remove takes one name.", {
      hint: "portolan remove <name>; portolan status shows the names.",
    });
  const dryRun = options.dryRun === true;
  const elsewhere = await declaredElsewhere(cli, alias);
  const { file, label, after } = await changeOwnFile(cli, dryRun, (own) => {
    if (own.text === undefined || !names(own).includes(alias)) throw notThere(alias, own, elsewhere);
    return removeServer(own.text, alias);
  });
  if (output.form === "json")
    output.json({ file, server: alias, written: !dryRun, ...(dryRun ? { text: after } : {}) });
  else output.print(dryRun ? after : `Removed ${alias} from ${label}.`);
  return 0;
}

function names({ text = "", file }: OwnFile): string[] {
  return parseWorkspace(text, file).servers.map((server) => server.alias);
}

function notThere(alias: string, own: OwnFile, elsewhere: string | undefined): PortolanError {
  const message =
    own.text === undefined
      ? `There is no ${own.label}, so that nothing can be removed from it.`
      : `${own.label} declares no server ${JSON.stringify(alias)}.`;
  return new PortolanError("SERVER_UNKNOWN", message, {
    hint:
      elsewhere === undefined
        ? didYouMean(alias, names(own))
        : `It is declared in ${elsewhere}: remove it there, or switch it off.`,
  });
}

/** Where else a server of that name is declared. Diagnostics of other files are not this command's. */
async function declaredElsewhere(cli: Cli, alias: string): Promise<string | undefined> {
  const source = await loadSource(cli).catch(() => undefined);
  const found = source?.config.servers.find((server) => server.alias === alias);
  if (found === undefined || found.origin.format === "workspace") return undefined;
  const { file, line } = found.origin;
  return `${pathLabeller(cli.io)(file)}:${line}`;
}
