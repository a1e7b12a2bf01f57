// Names of MCP clients on the command line.

import { didYouMean, PortolanError } from "../../errors/index.ts";
import { type ClientId, CLIENTS } from "../../formats/clients/index.ts";

const IDS = Object.keys(CLIENTS) as ClientId[];
const BY_TITLE = new Map(Object.values(CLIENTS).map(({ id, title }) => [fold(title), id]));

/**
 * Accepts the id or the title in any spelling: `cursor`, `VS Code`, `Claude Desktop`. `adviseFile` returns the hint for a person who
 * typed the path of a config file.
 */
export function parseClient(typed: string, adviseFile?: (file: string) => string): ClientId {
  const id = IDS.find((known) => fold(known) === fold(typed)) ?? BY_TITLE.get(fold(typed));
  if (id !== undefined) return id;
  const supported = `Supported clients: ${IDS.join(", ")}.`;
  if (/[/\\]|\.(?:json|toml|yaml)$/i.test(typed))
    throw new PortolanError("USAGE", `${JSON.stringify(typed)} is not the name of a client.`, {
      hint: adviseFile === undefined ? supported : `${adviseFile(typed)} ${supported}`,
      data: { clients: IDS },
    });
  const near = fold(typed) === "claude" ? 'Did you mean "claude-code" or "claude-desktop"?' : undefined;
  const guess = near ?? didYouMean(typed, IDS);
  throw new PortolanError("USAGE", `Portolan does not support the client ${JSON.stringify(typed)}.`, {
    hint: guess === undefined ? supported : `${guess} ${supported}`,
    data: { clients: IDS },
  });
}

export function clientTitle(id: ClientId): string {
  return CLIENTS[id].title;
}

function fold(name: string): string {
  return name.toLowerCase().replace(/[\s_-]+/g, "");
}
