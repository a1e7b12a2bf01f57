// `portolan registry token`, `sign` and `forget`: the work of a registry's operator and of its users' trust.

import { shellWord } from "../../base/text/command-line.ts";
import { PortolanError } from "../../errors/index.ts";
import { layoutOf, lookAlikeOf, openStore, openTokens } from "../../registry/index.ts";
import type { Cli } from "../context.ts";
import { renderRows } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { openUrl, registryFolder } from "./options.ts";
import type { RawRegistryServeOptions } from "./serve.ts";

/** The token goes to a terminal only, unless the user requests otherwise: logs and CI output are read by others. */
export async function addToken(cli: Cli, written: string, raw: RawRegistryServeOptions): Promise<number> {
  const { io, output } = cli;
  const scope = written.replace(/^@/, "");
  if (io.stdout.isTTY !== true && raw.show !== true)
    throw new PortolanError(
      "USAGE",
      "No token was created: stdout is not a terminal, and tokens are printed only to a terminal.",
      {
        hint: "Run the command in a terminal, or add --show if nobody else can read the output.",
      },
    );
  const tokens = openTokens(layoutOf(await registryFolder(cli, raw.folder)).tokens, () => new Date());
  const alike = lookAlikeOf(
    scope,
    (await tokens.list()).map((entry) => entry.scope),
  );
  if (alike !== undefined)
    output.note(
      output.noteColors.yellow(
        `The scope @${plainLine(scope, 100)} looks like @${alike}, which already has a token.`,
      ),
    );
  const isReader = raw.read === true;
  const { token, entry } = await tokens.add(scope, isReader ? { access: "read" } : {});
  if (output.form === "json")
    output.json({ token, id: entry.id, scope, ...(isReader ? { access: "read" } : {}) });
  else output.print(token);
  const owner = scope === "*" ? "all scopes" : `@${scope}`;
  output.note(
    `This token ${isReader ? `can only read packages and give stars, as ${owner}` : `can publish packages of ${owner}`}. It is not shown again. To remove it: portolan registry token rm ${entry.id}${folderOption(raw)}`,
  );
  return 0;
}

/** The option for the next command, if the folder is not the default one. */
function folderOption({ folder }: RawRegistryServeOptions): string {
  return folder === undefined ? "" : ` --folder ${shellWord(folder)}`;
}

export async function listTokens(cli: Cli, raw: RawRegistryServeOptions): Promise<number> {
  const { output } = cli;
  const tokens = await openTokens(
    layoutOf(await registryFolder(cli, raw.folder)).tokens,
    () => new Date(),
  ).list();
  const shown = tokens.map(({ id, scope, createdAt, access }) => ({ id, scope, createdAt, access }));
  if (output.form === "json") output.json({ tokens: shown });
  else if (shown.length === 0) output.print("There are no tokens.");
  else
    output.print(
      renderRows(
        shown.map(({ id, scope, createdAt, access }) => ({
          name: id,
          value: `${scope === "*" ? "*" : `@${scope}`}  ${createdAt}${access === undefined ? "" : "  read-only"}`,
        })),
        output,
      ),
    );
  return 0;
}

export async function removeToken(cli: Cli, id: string, raw: RawRegistryServeOptions): Promise<number> {
  const tokens = openTokens(layoutOf(await registryFolder(cli, raw.folder)).tokens, () => new Date());
  if (!(await tokens.remove(id)))
    throw new PortolanError("USAGE", `There is no token ${JSON.stringify(id.slice(0, 60))}.`, {
      hint: `See the ids of the tokens: portolan registry token list${folderOption(raw)}`,
    });
  if (cli.output.form === "json") cli.output.json({ removed: id });
  else cli.output.note(`Removed the token ${plainLine(id, 60)}.`);
  return 0;
}

export async function signIndex(cli: Cli, raw: RawRegistryServeOptions): Promise<number> {
  const days = daysOf(raw.validFor, 7);
  const store = await openStore(await registryFolder(cli, raw.folder), { validForMs: days * 86_400_000 });
  try {
    const { index } = await store.sign();
    if (cli.output.form === "json") cli.output.json({ sequence: index.sequence, expiresAt: index.expiresAt });
    else cli.output.print(`Signed the index. Clients accept it until ${index.expiresAt}.`);
  } finally {
    await store.close();
  }
  return 0;
}

export function daysOf(text: string | undefined, preset: number): number {
  const days = text === undefined ? preset : Number(text);
  if (!Number.isInteger(days) || days < 1 || days > 3_650)
    throw new PortolanError("USAGE", "--valid-for must be a number of days from 1 to 3650.");
  return days;
}

export async function forget(cli: Cli, url: string): Promise<number> {
  const registry = await openUrl(cli, url);
  const isKnown = await registry.forget();
  const { output } = cli;
  if (output.form === "json") output.json({ registry: registry.label, removed: isKnown });
  else
    output.print(
      isKnown ? `Removed the stored key of ${registry.label}.` : `No key of ${registry.label} was stored.`,
    );
  return 0;
}
