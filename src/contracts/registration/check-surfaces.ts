// Prompts and resources that a driver declares, held against what its server has: what is not there is told, and not offered.

import { type Diagnostic, didYouMean } from "../../errors/index.ts";
import type { Driver, DriverPrompt, DriverResource } from "../../model/index.ts";
import { isOf } from "../surfaces/find-surface.ts";

/** What a server has beside tools. Undefined: it could not be listed, which says nothing. */
export interface ServerSurfaces {
  readonly prompts: readonly string[] | undefined;
  readonly resources: { readonly uris: readonly string[]; readonly templates: readonly string[] } | undefined;
}

export interface Lacking {
  readonly problems: readonly Diagnostic[];
  /** Those of the declared ones that the server does not have. */
  readonly lacks: ReadonlySet<DriverPrompt | DriverResource>;
}

const MOST_SHOWN = 12;

export function surfaceProblems(driver: Driver, { prompts, resources }: ServerSurfaces): Lacking {
  const problems: Diagnostic[] = [];
  const lacks = new Set<DriverPrompt | DriverResource>();
  const tell = (
    one: DriverPrompt | DriverResource,
    what: string,
    name: string,
    all: readonly string[],
  ): void => {
    lacks.add(one);
    const place = `${"uriTemplate" in one ? "resource" : "prompt"}:${name}`;
    const some =
      all.length === 0
        ? `The server has no ${what}s.`
        : `The server has ${all.slice(0, MOST_SHOWN).join(", ")}${all.length > MOST_SHOWN ? ", …" : ""}.`;
    problems.push({
      code: "DECLARATION_INVALID",
      severity: "warning",
      server: driver.id,
      message: `${driver.id}: the server has no ${what} "${name}", so that it is not offered`,
      hint: didYouMean(name, all) ?? some,
      file: driver.origin.file,
      ...driver.origin.places?.[place],
    });
  };
  for (const one of prompts === undefined ? [] : driver.prompts)
    if (prompts?.includes(one.name) === false) tell(one, "prompt", one.name, prompts);
  for (const one of resources === undefined ? [] : driver.resources) {
    const { uriTemplate } = one;
    if (resources === undefined || hasResource(uriTemplate, resources)) continue;
    const isTemplate = uriTemplate.includes("{");
    const all = isTemplate ? resources.templates : [...resources.uris, ...resources.templates];
    tell(one, isTemplate ? "resource template" : "resource", uriTemplate, all);
  }
  return { problems, lacks };
}

/** Under whatever names of gaps; a template may also stand for resources that are listed one by one, or for some of a wider one. */
function hasResource(
  declared: string,
  { uris, templates }: NonNullable<ServerSurfaces["resources"]>,
): boolean {
  const sample = declared.replace(/\{[^{}]*\}/g, "x");
  return (
    uris.some((uri) => isOf(declared, uri)) ||
    templates.some((template) => shapeOf(template) === shapeOf(declared) || isOf(template, sample))
  );
}

function shapeOf(template: string): string {
  return template.replace(/\{[^{}]*\}/g, "{}");
}
