// `portolan remove`: removes a server from the workspace's portolan.yaml.

import { didYouMean, PortolanError } from "../../errors/index.ts";
import { parseWorkspace, removeServer } from "../../formats/workspace/index.ts";
import type { Cli } from "../context.ts";
import { takeOneWord } from "../options/usage-error.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { loadSource } from "../workspace/source.ts";
import { editWorkspaceFile, type WorkspaceFile } from "./workspace-file.ts";

export async function remove(
  cli: Cli,
  words: readonly string[],
  options: { dryRun?: boolean },
): Promise<number> {
  const { output } = cli;
  const hint = "portolan remove <name>; portolan status shows the names.";
  const alias = takeOneWord(words, { command: "remove", noun: "name", hint });
  const dryRun = options.dryRun === true;
  const elsewhere = await declaredElsewhere(cli, alias);
  const { file, label, after } = await editWorkspaceFile(cli, dryRun, (own) => {
    if (own.text === undefined || !names(own).includes(alias)) throw notThere(alias, own, elsewhere);
    return removeServer(own.text, alias);
  });
  if (output.form === "json")
    output.json({ file, server: alias, written: !dryRun, text: dryRun ? after : undefined });
  else output.print(dryRun ? after : `Removed ${alias} from ${label}.`);
  return 0;
}

function names({ text = "", file }: WorkspaceFile): string[] {
  return parseWorkspace(text, file).servers.map((server) => server.alias);
}

function notThere(alias: string, own: WorkspaceFile, elsewhere: string | undefined): PortolanError {
  const message =
    own.text === undefined
      ? `There is no ${own.label}, so there is no server to remove.`
      : `${own.label} has no server ${JSON.stringify(alias)}.`;
  return new PortolanError("SERVER_UNKNOWN", message, {
    hint:
      elsewhere === undefined
        ? didYouMean(alias, names(own))
        : `It is in ${elsewhere}: remove or disable it there.`,
  });
}

/** The place of a server with this name in another config file. Errors in other files are not reported here. */
async function declaredElsewhere(cli: Cli, alias: string): Promise<string | undefined> {
  const source = await loadSource(cli).catch(() => undefined);
  const found = source?.config.servers.find((server) => server.alias === alias);
  if (found === undefined || found.origin.format === "workspace") return undefined;
  const { file, line } = found.origin;
  return `${pathLabeller(cli.io)(file)}:${line}`;
}
