// `portolan token`: prints the token of a workspace's gateway.

import { PortolanError } from "../../errors/index.ts";
import { openAccess } from "../../gateway/index.ts";
import type { Cli } from "../context.ts";
import type { RawOptions } from "../options/parse.ts";
import { noteDiagnostic } from "../output/diagnostic.ts";
import { noteOutdated } from "../control/outdated.ts";
import { elsewhereHint } from "../workspace/elsewhere.ts";
import { findWorkspace, pathLabeller } from "../workspace/folder.ts";

export interface RawTokenOptions extends RawOptions {
  new?: boolean;
}

export async function token(cli: Cli, words: readonly string[], options: RawTokenOptions): Promise<number> {
  const { io, output } = cli;
  const [path, extra] = words;
  if (extra !== undefined || (path !== undefined && cli.options.workspace !== undefined))
    throw new PortolanError(
      "USAGE",
      "portolan token takes at most one workspace: as an argument, or with -w.",
    );
  const workspace = path ?? cli.options.workspace;
  const { folder } = await findWorkspace(io, { workspace });
  const access = await openAccess(folder, {
    renew: options.new === true,
    report: (diagnostic) => noteDiagnostic(diagnostic, cli),
  });
  // For "$(portolan token)", the output is the token alone, even when stdout is not a terminal.
  if (options.json === true) output.json({ token: access.token, file: access.file, created: access.created });
  else output.print(access.token);
  if (workspace === undefined && access.created) {
    const elsewhere = await elsewhereHint(io, folder);
    if (elsewhere !== undefined)
      output.note(`This is a new token, for ${pathLabeller(io)(folder)}. ${elsewhere}`);
  }
  if (options.new === true) {
    output.note(`The new token is stored in ${pathLabeller(io)(access.file)}.`);
    const at = { ...cli, options: { ...cli.options, workspace } };
    await noteOutdated(at, "still accepts the old token. To make it accept the new token");
  }
  return 0;
}
