// Path guard of a sandboxed server: refuses calls whose paths or file URIs are outside of its sandbox.

import { toWildcard } from "../../base/text/wildcard.ts";
import { PortolanError } from "../../errors/index.ts";
import { isObject, type JsonObject, type SandboxConfig } from "../../model/index.ts";
import type { PathCheck, PathProblem } from "../../sandbox/index.ts";
import type { Call } from "../upstream.ts";
import { within } from "../waiting.ts";

/** Rejects when a path is refused. Undefined when the call has no paths to check. */
export type PathGuard = (call: Call) => Promise<void> | undefined;

export interface PathGuardOptions {
  readonly server: string;
  /** Undefined without a sandbox: then all paths are allowed. */
  readonly check: PathCheck | undefined;
  readonly declared?: SandboxConfig["pathArguments"];
  /** The time limit of the check for calls without a timeout of their own. */
  readonly timeoutMs: number;
}

interface Found {
  readonly what: string;
  readonly text: string;
}

const WITH_URI: ReadonlySet<string> = new Set(["resources/read", "resources/subscribe"]);
/** Matches URIs that are not files; a text without a scheme may be a path. */
const ELSEWHERE = /^(?!(?:[\d.a-z-]*[:+])*file:)[a-z][\d+.a-z-]+:/i;
/** Limits per call, because each path costs system calls. */
const [MAX_TEXTS, MAX_CHARACTERS, MAX_VALUES] = [1000, 128 * 1024, 20_000];
/** The number of values that are searched per call. */
const MOST_VALUES = 1_000_000;
/** Matches a file URI in any argument, also inside of a reference such as `mcp_files:file:///a`. A text with spaces is
 * a sentence, unless it begins with `file:/`. */
const FILE_URI = /^(?:[\w.-]*[:+])*(?=file:(?:[/\\]|\S+$))/i;
const HEAD = 512;
/** Matches characters that URL parsers ignore. */
const ODD = /^[\p{Cc} ]|[\t\n\r]/u;
/** The length up to which a message shows a path. */
const MAX_SHOWN = 300;
const TOO_MUCH = "the call was not sent: its arguments contain more paths than Portolan checks";
const FEWER = `Split the call: Portolan checks up to ${MAX_TEXTS} texts with ${MAX_CHARACTERS} characters per call.`;

export function createPathGuard(options: PathGuardOptions): PathGuard | undefined {
  const { server, check, declared = {}, timeoutMs } = options;
  if (check === undefined) return undefined;
  const rules = Object.entries(declared).map(([tool, names]) => [toWildcard(tool), names] as const);

  return (call) => {
    const { method, params } = call;
    if (WITH_URI.has(method)) {
      const uri = params?.uri;
      if (typeof uri !== "string" || isElsewhere(uri)) return undefined;
      return pass([{ what: "uri", text: uri }], call);
    }
    if (method !== "tools/call") return undefined;
    const { name, arguments: given } = params ?? {};
    if (typeof name !== "string" || !isObject(given)) return undefined;
    const names = new Set(rules.flatMap(([matches, listed]) => (matches(name) ? listed : [])));
    const paths = textsIn(
      [...names].map((argument) => [argument, given[argument]] as const),
      (text) => text,
      MAX_VALUES,
    );
    const others = Object.entries(given).filter(([argument]) => !names.has(argument));
    const uris = textsIn(others, fileUriIn, MOST_VALUES);
    if (paths === undefined || uris === undefined) return Promise.reject(refusal(TOO_MUCH, FEWER, name));
    const found = [...paths, ...uris];
    return found.length === 0 ? undefined : pass(found, call, name);
  };

  async function pass(
    found: readonly Found[],
    { timeoutMs: ms, signal }: Call,
    tool?: string,
  ): Promise<void> {
    const over = new AbortController();
    const texts = found.map(({ text }) => text);
    try {
      const limit = { server, what: "checking the paths in the arguments", ms: ms ?? timeoutMs, signal };
      const wrong = await within(check?.(texts, over.signal) ?? Promise.resolve(undefined), limit);
      if (wrong === undefined) return;
      const hint = hintFor(wrong, server);
      const { what, text: path } = found[wrong.index] ?? { what: "a path", text: "" };
      const shown = JSON.stringify(path.slice(0, MAX_SHOWN));
      const where =
        tool === undefined ? "request was not sent: the URI" : `call was not sent: the argument ${what}`;
      const message = `the ${where} ${shown} ${wrong.problem}`;
      // The check is about visible paths, so the server could not even read this one.
      throw refusal(message, hint, tool, { argument: what, path, access: "read" });
    } finally {
      // The check is not needed after a timeout or an abort.
      over.abort();
    }
  }

  function refusal(message: string, hint: string, tool?: string, data?: JsonObject): PortolanError {
    return new PortolanError("SANDBOX_DENIED", message, { server, tool, hint, data });
  }
}

function hintFor({ kind }: PathProblem, server: string): string {
  if (kind === "outside")
    return `If ${server} needs this path, grant it in its sandbox config: fs.read or fs.write.`;
  if (kind === "hidden")
    return `The sandbox of ${server} hides this path inside of a granted folder. Use another path. If the server must use this path, and fs.deny of the sandbox names the path, remove the path from fs.deny.`;
  return "Pass the path as plain text: absolute, without escapes and control characters.";
}

/** Reads the URI as a URL parser does: it ignores leading spaces, and tabs and line ends anywhere. */
function isElsewhere(uri: string): boolean {
  return ELSEWHERE.test(uri.slice(0, 4096).replace(/^[\p{Cc} ]+|[\t\n\r]+/gu, ""));
}

/** The file URI in the text; undefined for other texts. */
function fileUriIn(text: string): string | undefined {
  const plain = ODD.test(text.slice(0, HEAD)) ? text.replace(/^[\p{Cc} ]+|[\t\n\r]+/gu, "") : text;
  const before = FILE_URI.exec(plain.slice(0, HEAD))?.[0];
  return before === undefined ? undefined : plain.slice(before.length);
}

/** The texts to check in the values, at any depth; undefined when there are more than the limits allow. */
function textsIn(
  values: readonly (readonly [string, unknown])[],
  checked: (text: string) => string | undefined,
  mostValues: number,
): Found[] | undefined {
  const found: Found[] = [];
  const left = [...values];
  let [characters, count] = [0, left.length];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [what, value] = next;
    if (typeof value === "string") {
      const text = checked(value);
      if (text === undefined) continue;
      characters += text.length;
      found.push({ what, text });
    } else if (typeof value === "object" && value !== null) {
      const inner: unknown[] = Object.values(value);
      count += inner.length;
      if (count > mostValues) return undefined;
      for (const one of inner) left.push([what, one]);
    }
    if (found.length > MAX_TEXTS || characters > MAX_CHARACTERS) return undefined;
  }
  return found;
}
