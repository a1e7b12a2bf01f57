// Paths and file URIs on their way to a boxed server: what lies outside of its box is refused before it is forwarded.

import { PortolanError } from "../errors/index.ts";
import type { PathCheck } from "../launch/index.ts";
import { isObject, type SandboxDeclaration, toWildcard } from "../model/index.ts";
import type { Call } from "./types.ts";
import { within } from "./waiting.ts";

/** Says nothing when all is well. */
export type PathGuard = (call: Call) => Promise<void> | undefined;

export interface PathGuardOptions {
  readonly server: string;
  /** Undefined where there is no box: then a path leads wherever this program's own rights lead. */
  readonly check: PathCheck | undefined;
  readonly declared?: SandboxDeclaration["pathArguments"];
  /** For calls that do not say themselves how long they may take. */
  readonly timeoutMs: number;
}

interface Found {
  readonly what: string;
  readonly text: string;
}

const WITH_URI: ReadonlySet<string> = new Set(["resources/read", "resources/subscribe"]);
/** URIs of something else than files; what has no scheme may well be taken for a path. */
const ELSEWHERE = /^(?!(?:[\d.a-z-]*[:+])*file:)[a-z][\d+.a-z-]+:/i;
/** What one call may bring: each text costs system calls. */
const [MAX_TEXTS, MAX_CHARACTERS, MAX_VALUES] = [1000, 128 * 1024, 20_000];
const TOO_MUCH = "the arguments that are paths hold more than can be checked";
const FEWER = `Split the call: up to ${MAX_TEXTS} texts and ${MAX_CHARACTERS} characters are checked at once.`;

export function createPathGuard(options: PathGuardOptions): PathGuard | undefined {
  const { server, check, declared = {}, timeoutMs } = options;
  if (check === undefined) return undefined;
  const rules = Object.entries(declared).map(([tool, names]) => [toWildcard(tool), names] as const);

  return (call) => {
    const { method, params } = call;
    if (WITH_URI.has(method)) {
      const uri = params?.uri;
      if (typeof uri !== "string" || isElsewhere(uri)) return undefined;
      return pass([{ what: "the URI of the resource", text: uri }], call);
    }
    if (method !== "tools/call" || rules.length === 0) return undefined;
    const { name, arguments: given } = params ?? {};
    if (typeof name !== "string" || !isObject(given)) return undefined;
    const names = new Set(rules.flatMap(([matches, listed]) => (matches(name) ? listed : [])));
    const found = textsIn([...names].map((argument) => [argument, given[argument]] as const));
    if (found === undefined) return Promise.reject(refusal(TOO_MUCH, FEWER, name));
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
      const limit = { server, what: "checking its paths", ms: ms ?? timeoutMs, signal };
      const wrong = await within(check?.(texts, over.signal) ?? Promise.resolve(undefined), limit);
      if (wrong === undefined) return;
      const hint = `If ${server} should have it, grant the folder in its sandbox, under fs.`;
      throw refusal(`${found[wrong.index]?.what ?? "a path"} ${wrong.problem}`, hint, tool);
    } finally {
      // Whoever has stopped waiting needs no answer either.
      over.abort();
    }
  }

  function refusal(message: string, hint: string, tool: string | undefined): PortolanError {
    return new PortolanError("SANDBOX_DENIED", message, { server, tool, hint });
  }
}

/** As whoever parses URLs reads it: they overlook what stands around it, and line ends and tabs anywhere. */
function isElsewhere(uri: string): boolean {
  return ELSEWHERE.test(uri.slice(0, 4096).replace(/^[\p{Cc} ]+|[\t\n\r]+/gu, ""));
}

/** All texts in the values, to any depth; undefined when there is more than a call may bring. */
function textsIn(values: readonly (readonly [string, unknown])[]): Found[] | undefined {
  const found: Found[] = [];
  const left = [...values];
  let [characters, count] = [0, left.length];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [what, value] = next;
    if (typeof value === "string") {
      characters += value.length;
      found.push({ what, text: value });
    } else if (typeof value === "object" && value !== null) {
      const inner: unknown[] = Object.values(value);
      count += inner.length;
      if (count > MAX_VALUES) return undefined;
      for (const one of inner) left.push([what, one]);
    }
    if (found.length > MAX_TEXTS || characters > MAX_CHARACTERS) return undefined;
  }
  return found;
}
