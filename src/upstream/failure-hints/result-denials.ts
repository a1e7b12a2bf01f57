// Denials of a sandbox in the result of a call: in `_meta` for programs, and in a text for the model and the person.

import { isObject, type JsonObject } from "../../model/index.ts";

/** A path or host that the sandbox of a server denied, and the command that grants it. */
export interface Denial {
  readonly message: string;
  readonly grant?: string;
  /** The text that says what to do. */
  readonly hint?: string;
}

/** The key of `_meta` with the paths and hosts that the sandbox denied during a call. */
const SANDBOX_META = "portolan/sandbox";

/** The number of denials that the text of a result names. */
const MAX_TEXTS = 5;

/** Paths and hosts that a sandbox denied during a call, as its result names them. A server can write this field too: the text to show is in the diagnostics. */
export function deniedTargets({ _meta }: JsonObject): readonly string[] {
  const about = isObject(_meta) ? _meta[SANDBOX_META] : undefined;
  const denied: unknown = isObject(about) ? about["denied"] : undefined;
  if (!Array.isArray(denied)) return [];
  return denied.flatMap((one: unknown) =>
    isObject(one) ? [one["path"], one["host"]].filter((name) => typeof name === "string") : [],
  );
}

/** A failed call gets a text, too: clients show `content` and no `_meta`. A successful result keeps its content. */
export function withDenials(result: JsonObject, denials: readonly Denial[]): JsonObject {
  if (denials.length === 0) return result;
  const meta = isObject(result._meta) ? result._meta : {};
  const denied = denials.map(({ hint: _hint, ...fields }) => fields);
  const about = { ...result, _meta: { ...meta, [SANDBOX_META]: { denied } } };
  if (result.isError !== true || !Array.isArray(result.content)) return about;
  return { ...about, content: [...(result.content as unknown[]), { type: "text", text: textOf(denials) }] };
}

function textOf(denials: readonly Denial[]): string {
  const lines = denials.map(({ message, hint }) => (hint === undefined ? message : `${message} ${hint}`));
  return [...new Set(lines)].slice(0, MAX_TEXTS).join("\n");
}
