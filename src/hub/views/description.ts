// Description of a view: of its only server, or of all servers together.

import { VERSION } from "../../client/index.ts";
import type { Description } from "../../upstream/index.ts";
import { mergedCapabilities, ownCapabilities } from "./capabilities.ts";
import type { Member } from "../member/member.ts";

const SPOKEN = { era: "modern", revision: "2026-07-28", transport: "memory" } as const;

export function describeAlone({ alias, inventory }: Member): Description {
  return {
    ...SPOKEN,
    info: inventory.info ?? { name: alias, version: "unknown" },
    capabilities: ownCapabilities(inventory),
    instructions: inventory.instructions,
  };
}

export function describeTogether(name: string, members: readonly Member[]): Description {
  // A server that was disabled while it ran still has lists, which are not shown.
  const enabled = members.filter(({ declared }) => declared.enabled);
  const said = enabled.flatMap(({ alias, inventory: { instructions } }) =>
    instructions === undefined ? [] : [`## ${alias}\n\n${instructions}`],
  );
  return {
    ...SPOKEN,
    info: { name, version: VERSION },
    capabilities: mergedCapabilities(enabled.map(({ inventory }) => inventory)),
    instructions: said.length === 0 ? undefined : said.join("\n\n"),
  };
}
