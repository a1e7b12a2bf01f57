// Denials of a sandbox in the result of a call: in `_meta` for programs, and in a text for the model and the person.

import { isPortolanError, type PortolanError } from "../../errors/index.ts";
import { type CallToolResult, isObject, type JsonObject } from "../../model/index.ts";

/** A path or host that the sandbox of a server denied, and the command that grants it; or a granted host that this machine could not reach. */
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
export function deniedTargets(result: JsonObject): readonly string[] {
  return deniedOf(result).flatMap(({ path, host }) =>
    [path, host].filter((name) => typeof name === "string"),
  );
}

/** A path or host that the sandbox of a server denied during a call, or a granted host that this machine could not reach. */
export interface SandboxDenial {
  /** The denied path, with the missing access; absent for a host. */
  readonly path?: string;
  readonly access?: "read" | "write";
  /** The denied host; absent for a path. */
  readonly host?: string;
  /** `unreachable`: the sandbox grants the host, but this machine could not reach it. */
  readonly kind?: "unreachable";
  readonly message: string;
  /** The command or the config that grants it; absent if no grant would help. */
  readonly grant?: string;
}

/**
 * The denials of a sandbox in the result of a call, or in the error of a call: of its result, or the path that Portolan refused
 * before the call. A server can write this field of its result, too, so do not grant anything without asking a person.
 */
export function sandboxDenials(from: CallToolResult | PortolanError): SandboxDenial[] {
  if (!isPortolanError(from)) return deniedOf(from).flatMap(toSandboxDenial);
  const { code, message, data } = from;
  if (isObject(data.result)) return deniedOf(data.result).flatMap(toSandboxDenial);
  return code === "SANDBOX_DENIED" ? toSandboxDenial({ ...data, message }) : [];
}

function toSandboxDenial({ path, access, host, kind, message, grant }: JsonObject): SandboxDenial[] {
  if (typeof message !== "string") return [];
  const about =
    typeof path === "string"
      ? { path, access: access === "write" ? ("write" as const) : ("read" as const) }
      : typeof host === "string"
        ? { host, ...(kind === "unreachable" ? { kind: "unreachable" as const } : {}) }
        : undefined;
  if (about === undefined) return [];
  return [{ ...about, message, ...(typeof grant === "string" ? { grant } : {}) }];
}

function deniedOf({ _meta }: JsonObject): readonly JsonObject[] {
  const about = isObject(_meta) ? _meta[SANDBOX_META] : undefined;
  const denied: unknown = isObject(about) ? about["denied"] : undefined;
  return Array.isArray(denied) ? denied.filter(isObject) : [];
}

/** A failed call gets a text, too: clients show `content` and no `_meta`. A successful result keeps its content. */
export function withDenials(result: JsonObject, denials: readonly Denial[]): JsonObject {
  if (denials.length === 0) return result;
  const meta = isObject(result._meta) ? result._meta : {};
  const denied = denials.map(({ hint: _hint, ...fields }) => fields);
  const about = { ...result, _meta: { ...meta, [SANDBOX_META]: { denied } } };
  return result.isError === true ? withText(about, textOf(denials)) : about;
}

/**
 * A denial without the command that grants access: a named caller of a gateway cannot run it, and must not learn the operator's paths.
 * `folder`: the working folder of the server, if the caller does not know it. Paths in it become relative.
 */
export function forCaller(
  denial: Denial & { readonly path?: string; readonly host?: string },
  folder?: string,
): Denial {
  const shown = (text: string): string => (folder === undefined ? text : text.replaceAll(`${folder}/`, ""));
  const { grant, hint: _hint, ...rest } = denial;
  const path = rest.path === undefined ? {} : { path: shown(rest.path) };
  const fields = { ...rest, ...path, message: shown(rest.message) };
  if (grant === undefined) return fields;
  const target = fields.path ?? (fields.host || "the host");
  return { ...fields, hint: `Ask the operator of the gateway to grant access to ${target}.` };
}

/** Adds a text of Portolan to the end of a failed result. */
export function withText(result: JsonObject, text: string): JsonObject {
  if (!Array.isArray(result.content)) return result;
  return { ...result, content: [...(result.content as unknown[]), { type: "text", text }] };
}

/** The result without the text about denials, for a place that shows the diagnostics themselves. */
export function withoutDenialText<R extends JsonObject>(result: R): R {
  const content: readonly unknown[] = Array.isArray(result.content) ? result.content : [];
  const last = content.at(-1);
  const text = isObject(last) && last["type"] === "text" ? String(last["text"]) : undefined;
  const messages = deniedOf(result).flatMap(({ message }) => (typeof message === "string" ? [message] : []));
  const isOwn = text?.split("\n").every((line) => messages.some((message) => line.startsWith(message)));
  return isOwn === true ? { ...result, content: content.slice(0, -1) } : result;
}

/** One line for each hint: a file and its folder, of which one grant permits both, would otherwise read as the same text twice. */
function textOf(denials: readonly Denial[]): string {
  const lines = new Map<string, string>();
  for (const { message, hint } of denials)
    if (!lines.has(hint ?? message)) lines.set(hint ?? message, [message, hint ?? ""].join(" ").trimEnd());
  return [...lines.values()].slice(0, MAX_TEXTS).join("\n");
}
