// Paths and file URIs on their way to a boxed server: what lies outside of its box is refused before it is forwarded.

import { PortolanError } from "../errors/index.ts";
import type { PathCheck } from "../launch/index.ts";
import { isObject, type SandboxDeclaration, toWildcard } from "../model/index.ts";
import type { Call } from "./types.ts";

/** Says nothing when all is well. */
export type PathGuard = (call: Call) => Promise<void> | undefined;

const WITH_URI: ReadonlySet<string> = new Set(["resources/read", "resources/subscribe"]);

/** `problemOf` is undefined where there is no box: then a path leads wherever this program's own rights lead. */
export function createPathGuard(
  server: string,
  problemOf: PathCheck | undefined,
  declared: SandboxDeclaration["pathArguments"] = {},
): PathGuard | undefined {
  if (problemOf === undefined) return undefined;
  const rules = Object.entries(declared).map(([tool, names]) => [toWildcard(tool), names] as const);
  const check = async (values: readonly (readonly [string, string])[], tool?: string): Promise<void> => {
    for (const [what, value] of values) {
      const problem = await problemOf(value);
      if (problem === undefined) continue;
      throw new PortolanError("SANDBOX_DENIED", `${what} ${problem}`, {
        server,
        tool,
        hint: `If ${server} should have it, grant the folder in its sandbox, under fs.`,
      });
    }
  };
  return ({ method, params }) => {
    if (WITH_URI.has(method)) {
      const uri = params?.uri;
      return typeof uri === "string" && /^file:/i.test(uri)
        ? check([["the URI of the resource", uri]])
        : undefined;
    }
    if (method !== "tools/call" || rules.length === 0) return undefined;
    const { name, arguments: given } = params ?? {};
    if (typeof name !== "string" || !isObject(given)) return undefined;
    const names = rules.flatMap(([matches, listed]) => (matches(name) ? listed : []));
    const values = names.flatMap((argument) =>
      textsOf(given[argument]).map((text) => [argument, text] as const),
    );
    return values.length === 0 ? undefined : check(values, name);
  };
}

function textsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return Array.isArray(value) ? value.flatMap(textsOf) : [];
}
