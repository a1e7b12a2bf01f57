// Reads the resources that the config files list as context, within their limits.

import { type ContextRule, isObject, type ReadResourceResult } from "../../model/index.ts";
import type { Member } from "../member/member.ts";
import { matchesAny } from "../views/naming.ts";

/** One resource that a `context` rule selected, with its text. */
export interface ContextItem {
  readonly server: string;
  readonly uri: string;
  readonly mimeType?: string;
  readonly text: string;
  /** The resource was longer than its rule allows. */
  readonly cut: boolean;
}

const TIMEOUT_MS = 10_000;

/** Reads the context resources of these servers. A resource that cannot be read is left out. */
export async function readContext(members: readonly Member[]): Promise<ContextItem[]> {
  const wanted = members.flatMap((member) =>
    (member.config.context ?? []).flatMap((rule) =>
      urisFor(member, rule).map((uri) => ({ member, uri, rule })),
    ),
  );
  const read = await Promise.all(
    wanted.map(async ({ member, uri, rule }) => {
      try {
        const params = { uri };
        const result = await member.request({ method: "resources/read", params, timeoutMs: TIMEOUT_MS });
        return (result as ReadResourceResult).contents.flatMap((content) =>
          toItem(member.alias, content, rule),
        );
      } catch {
        return [];
      }
    }),
  );
  return read.flat();
}

function urisFor({ inventory }: Member, { uri }: ContextRule): string[] {
  if (!uri.includes("*")) return [uri];
  return inventory.resources.map((resource) => resource.uri).filter((one) => matchesAny([uri], one) === true);
}

function toItem(server: string, content: unknown, { maxBytes }: ContextRule): ContextItem[] {
  if (!isObject(content) || typeof content.text !== "string") return [];
  const bytes = Buffer.from(content.text);
  const cut = bytes.length > maxBytes;
  // The text is cut between characters: a partial one becomes a replacement character, which is removed.
  const text = cut ? bytes.toString("utf8", 0, maxBytes).replace(/\uFFFD+$/, "") : content.text;
  const mimeType = typeof content.mimeType === "string" ? content.mimeType : undefined;
  return [{ server, uri: String(content.uri), mimeType, text, cut }];
}
