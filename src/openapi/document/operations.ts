// The operations of a description, in its order, as far as they were asked for.

import { isObject } from "../../model/index.ts";
import { quoted } from "../../formats/document/index.ts";
import { child, follow, items, members, type Spec, textOf } from "./document.ts";
import type { Findings } from "./diagnostics.ts";
import { SPEC_LIMITS } from "../limits.ts";
import { legalName, uniqueName } from "../names.ts";
import type { Choice } from "./select-operations.ts";
import { type At, type Method, Unusable } from "../types.ts";

export interface Operation {
  /** As `GET /pets/{id}`. */
  readonly label: string;
  readonly method: Method;
  /** As it is written, with `{id}` for parameters. */
  readonly route: string;
  readonly tool: string;
  readonly at: At;
  /** What the operations of one path share. */
  readonly shared: At;
}

const METHODS: ReadonlyMap<string, Method> = new Map([
  ["get", "GET"],
  ["head", "HEAD"],
  ["post", "POST"],
  ["put", "PUT"],
  ["patch", "PATCH"],
  ["delete", "DELETE"],
]);
const OTHER_METHODS: ReadonlySet<string> = new Set(["options", "trace", "query"]);

export function listOperations(spec: Spec, choice: Choice, findings: Findings): Operation[] {
  const operations: Operation[] = [];
  const taken = new Set<string>();
  let untaken = 0;
  for (const { key: route, at: written } of members(child({ value: spec.root, path: [] }, "paths"))) {
    if (route.startsWith("x-")) continue;
    const shared = sharedPart(spec, written, route, findings);
    if (shared === undefined) continue;
    for (const { key, at } of members(shared)) {
      const method = METHODS.get(key);
      const label = labelOf(key, route);
      if (method === undefined) {
        if (OTHER_METHODS.has(key) && choice.takes({ label, route, tags: tagsOf(at) }))
          findings.skip(label, `a tool cannot send ${key.toUpperCase()}`, at.path);
        continue;
      }
      const wanted = toolName(at, method, route);
      // Names of operations that are not chosen are taken too: the choice changes no name.
      const tool = uniqueName(wanted, taken);
      if (!choice.takes({ label, route, tool, tags: tagsOf(at) })) continue;
      if (operations.length >= SPEC_LIMITS.operations) {
        untaken += 1;
      } else if (!isObject(at.value)) {
        findings.skip(label, "it is not an object", at.path);
      } else if (!route.startsWith("/")) {
        findings.skip(label, 'its path does not begin with "/"', at.path);
      } else operations.push({ label, method, route, tool, at, shared });
    }
  }
  if (untaken > 0)
    findings.summary(
      ["paths"],
      `${untaken} operations are too many: at most ${SPEC_LIMITS.operations} are converted`,
      "Choose the operations that are needed.",
    );
  return operations;
}

/** A path's object, which may stand elsewhere. */
function sharedPart(spec: Spec, written: At, route: string, findings: Findings): At | undefined {
  try {
    return follow(spec, written);
  } catch (thrown) {
    if (!(thrown instanceof Unusable)) throw thrown;
    findings.skip(`* ${shortened(route)}`, thrown.message, thrown.path);
    return undefined;
  }
}

function toolName(at: At, method: Method, route: string): string {
  const fallback = legalName(`${method.toLowerCase()}/${route}`, method.toLowerCase());
  const id = textOf(at, "operationId");
  return id === undefined ? fallback : legalName(id, fallback);
}

function tagsOf(at: At): string[] {
  return items(child(at, "tags")).flatMap(({ value }) => (typeof value === "string" ? [value] : []));
}

function labelOf(method: string, route: string): string {
  return `${method.toUpperCase()} ${shortened(route)}`;
}

function shortened(route: string): string {
  return route.length > 100 || /[\p{C}]/u.test(route) ? quoted(route) : route;
}
