// Operations of a description in its order: all of them, or those that the patterns of `--only` select.

import { toWildcard } from "../../base/text/wildcard.ts";
import { quoted } from "../../formats/document/index.ts";
import { isObject } from "../../model/index.ts";
import { SPEC_LIMITS } from "../limits.ts";
import { legalName, uniqueName } from "../names.ts";
import { type At, type Method, Unusable } from "../types.ts";
import type { SpecDiagnostics } from "./diagnostics.ts";
import { child, follow, items, members, type Spec, textOf } from "./document.ts";

export interface Operation {
  /** As `GET /pets/{id}`. */
  readonly label: string;
  readonly method: Method;
  /** The path as written, with `{id}` for parameters. */
  readonly route: string;
  readonly tool: string;
  /** The part of the API that it belongs to: its first tag, or else the first word of its path. */
  readonly group: string;
  readonly at: At;
  /** The path item: the part that the operations of one path share. */
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

export function listOperations(spec: Spec, selection: Selection, diagnostics: SpecDiagnostics): Operation[] {
  const operations: Operation[] = [];
  const taken = new Set<string>();
  let untaken = 0;
  for (const { key: route, at: written } of members(child({ value: spec.root, path: [] }, "paths"))) {
    if (route.startsWith("x-")) continue;
    const shared = sharedPart(spec, written, route, diagnostics);
    if (shared === undefined) continue;
    for (const { key, at } of members(shared)) {
      const method = METHODS.get(key);
      const label = labelOf(key, route);
      if (method === undefined) {
        if (OTHER_METHODS.has(key) && selection.takes({ label, route, tags: tagsOf(at) }))
          diagnostics.skip(label, `a tool cannot send ${key.toUpperCase()}`, at.path);
        continue;
      }
      const wanted = toolName(at, method, route);
      // Unselected operations take their names as well, so that the selection does not change a name.
      const tool = uniqueName(wanted, taken);
      const tags = tagsOf(at);
      if (!selection.takes({ label, route, tool, tags })) continue;
      const group = legalName(tags[0] ?? route.split("/").find((part) => /^\w/.test(part)) ?? "", "other");
      if (operations.length >= SPEC_LIMITS.operations) {
        untaken += 1;
      } else if (!isObject(at.value)) {
        diagnostics.skip(label, "it is not an object", at.path);
      } else if (!route.startsWith("/")) {
        diagnostics.skip(label, 'its path does not begin with "/"', at.path);
      } else operations.push({ label, method, route, tool, group, at, shared });
    }
  }
  if (untaken > 0)
    diagnostics.summary(
      ["paths"],
      `operations that are left out, because at most ${SPEC_LIMITS.operations} are converted: ${untaken}`,
      "Choose the operations that are needed, with --only.",
    );
  return operations;
}

/** Follows the `$ref` of a path item. */
function sharedPart(spec: Spec, written: At, route: string, diagnostics: SpecDiagnostics): At | undefined {
  try {
    return follow(spec, written);
  } catch (thrown) {
    if (!(thrown instanceof Unusable)) throw thrown;
    diagnostics.skip(`* ${shortened(route)}`, thrown.message, thrown.path);
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

interface Candidate {
  readonly label: string;
  readonly route: string;
  readonly tool?: string;
  readonly tags: readonly string[];
}

interface Selection {
  readonly takes: (candidate: Candidate) => boolean;
  /** The patterns that matched no operation. */
  readonly unused: () => string[];
}

export function createSelection(patterns: readonly string[] | undefined): Selection {
  if (patterns === undefined || patterns.length === 0) return { takes: () => true, unused: () => [] };
  const used = new Set<string>();
  const takes = ({ label, route, tool, tags }: Candidate): boolean => {
    const texts = [label, route, ...(tool === undefined ? [] : [tool]), ...tags.map((tag) => `tag:${tag}`)];
    let taken = false;
    for (const pattern of patterns) {
      if (!texts.some((text) => matches(pattern, text))) continue;
      used.add(pattern);
      taken = true;
    }
    return taken;
  };
  return { takes, unused: () => patterns.filter((pattern) => !used.has(pattern)) };
}

/** Ignores case, because people type `get /pets*`. */
function matches(pattern: string, text: string): boolean {
  return toWildcard(pattern.toLowerCase())(text.toLowerCase());
}
