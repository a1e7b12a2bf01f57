// Finds a tool or a prompt by any of its names: listed name, `<server>.<name>`, full name, or the server's own name.

import { PortolanError, unknownTool } from "../../errors/index.ts";
import type { OwnName } from "../../hub/index.ts";

export interface OtherNames {
  /** Names that are unique to the item. */
  readonly also?: readonly string[];
  /** The server's own name, which another server may use as well. */
  readonly own?: OwnName;
}

/** The item with this name; undefined when there is none. */
export function findNamed<T extends { name: string }>(
  word: string,
  kind: "tool" | "prompt",
  items: readonly T[],
  otherNames?: (kind: "tool" | "prompt", listed: string) => OtherNames,
): T | undefined {
  const listed = items.find(({ name }) => name === word);
  if (listed !== undefined || otherNames === undefined) return listed;
  const known = items.map((item) => ({ item, ...otherNames(kind, item.name) }));
  const exact = known.find(({ also }) => also?.includes(word) === true);
  if (exact !== undefined) return exact.item;
  const same = known.filter(({ own }) => own?.name === word);
  if (same.length > 1)
    throw ambiguous(
      word,
      kind,
      same.map(({ own }) => own?.server ?? ""),
    );
  return same[0]?.item;
}

function ambiguous(word: string, what: string, servers: readonly string[]): PortolanError {
  return new PortolanError(
    "NAME_AMBIGUOUS",
    `${servers.length} servers have a ${what} ${JSON.stringify(word)}: ${servers.join(", ")}.`,
    { hint: `Write ${servers.map((server) => `${server}.${word}`).join(" or ")}.` },
  );
}

/** Returns the name after the server in `<server>.<name>`, and any other word unchanged. */
export function withoutServer(word: string, server: string): string {
  return word.startsWith(`${server}.`) ? word.slice(server.length + 1) : word;
}

/** The error for a tool that a server does not have. `reason` explains a name that is known and left out. */
export function toolNotFound(
  typed: string,
  server: string,
  tools: readonly { readonly name: string }[],
  reason: (name: string) => string | undefined,
  otherNames?: (kind: "tool" | "prompt", listed: string) => OtherNames,
): PortolanError {
  const name = withoutServer(typed, server);
  const names = tools.map((tool) => {
    const { own, also = [] } = otherNames?.("tool", tool.name) ?? {};
    return [own?.name ?? tool.name, tool.name, ...also];
  });
  const prefix = name === typed ? "" : `${server}.`;
  const listed = names.map(([own]) => `${prefix}${own}`);
  return unknownTool({ server, name, known: names.flat(), listed, reason: reason(name) });
}
